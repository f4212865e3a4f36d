// Reduce_scatter over an intercommunicator of 2 and 3 ranks, twice. Each
// group gives the counts that its own members receive: 3 and 3 ints, and 1,
// 2 and 3 ints.
#include "forms.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 5);
    int in[6] = {1, 1, 1, 1, 1, 1}, out[3] = {0};
    count_type counts[2][3] = {{3, 3, 0}, {1, 2, 3}};
    int upper = world_rank >= 2;
    MPI_Comm local, inter;
    MPI_Comm_split(MPI_COMM_WORLD, upper, world_rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, upper ? 0 : 2, 7, &inter);
    for (int i = 0; i < 2; i++)
        CALL(Reduce_scatter, reduce_scatter, in, out, counts[upper], MPI_INT, MPI_SUM, inter);
    REQUIRE(out[0] == (upper ? 2 : 3)); // the sum over the other group
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    return end();
}

/* Four ranks that pass messages around for argv[1] seconds and hang then: 0 and 1
 * receive from each other, 2 and 3 are in a barrier. Rank 0 says "hangs" before. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 4);
    REQUIRE(argc == 2);
    double until = MPI_Wtime() + atof(argv[1]);
    int going = 1, message = 0;
    while (going) {
        MPI_Sendrecv_replace(&message, 1, MPI_INT, (world_rank + 1) % 4, 0, (world_rank + 3) % 4, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        going = MPI_Wtime() < until;
        MPI_Bcast(&going, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (world_rank == 0) {
        puts("hangs");
        fflush(stdout);
    }
    if (world_rank < 2)
        MPI_Recv(&message, 1, MPI_INT, 1 - world_rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return end();
}

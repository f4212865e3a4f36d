/* Sendrecv round a ring, along a line with open ends, and in place (3 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    static char in[64], out[64];
    int numbers[3] = {0};
    begin(argc, argv, 3);
    int right = (world_rank + 1) % 3, left = (world_rank + 2) % 3;
    MPI_Sendrecv(out, 10 * (world_rank + 1), MPI_BYTE, right, 0, in, 64, MPI_BYTE, left, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(numbers, 3, MPI_INT, left, 1, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int after = world_rank < 2 ? world_rank + 1 : MPI_PROC_NULL;
    int before = world_rank > 0 ? world_rank - 1 : MPI_PROC_NULL;
    MPI_Sendrecv(out, 7, MPI_BYTE, after, 2, in, 64, MPI_BYTE, before, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return end();
}

/* MPI 4's nonblocking Sendrecv in a ring (3 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    static char in[64], out[64];
    int numbers[3] = {0};
    MPI_Request q[2];
    begin(argc, argv, 3);
    int right = (world_rank + 1) % 3, left = (world_rank + 2) % 3;
    MPI_Isendrecv(out, 10 * (world_rank + 1), MPI_BYTE, right, 0, in, 64, MPI_BYTE, MPI_ANY_SOURCE,
                  0, MPI_COMM_WORLD, &q[0]);
    MPI_Isendrecv_replace(numbers, 3, MPI_INT, left, 1, right, 1, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    return end();
}

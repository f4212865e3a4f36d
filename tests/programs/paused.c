/* Recording is off on one rank only: rank 1 counts a message that rank 0
 * does not count, and one that both count (2 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    if (world_rank == 0) {
        MPI_Pcontrol(0);
        send_bytes(3, 1, MPI_COMM_WORLD);
        MPI_Pcontrol(1);
        send_bytes(4, 1, MPI_COMM_WORLD);
    } else {
        recv_bytes(3, 0, MPI_COMM_WORLD);
        recv_bytes(4, 0, MPI_COMM_WORLD);
    }
    return end();
}

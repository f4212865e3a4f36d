/* Phases by MPI_Pcontrol (2 ranks). Each sends a different power of two. */
#include "check.h"

static void exchange(int bytes)
{
    if (world_rank == 0)
        send_bytes(bytes, 1, MPI_COMM_WORLD);
    else
        recv_bytes(bytes, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    exchange(1);
    MPI_Pcontrol(2);
    exchange(2);
    MPI_Pcontrol(0);
    exchange(4);
    MPI_Pcontrol(1);
    exchange(8);
    MPI_Pcontrol(3);
    exchange(16);
    return end();
}

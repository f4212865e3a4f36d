/* A process that is killed with open receives: 3 of 5 by Irecv, 2 of 2 by
 * Startall, 1 of 2 rounds of a Start (2 ranks). */
#include "check.h"

#include <signal.h>

static char data[8][16];

static void strand(void)
{
    MPI_Request q[5], p[2], one, nobody;
    for (int i = 0; i < 5; i++)
        MPI_Irecv(data[i], 16, MPI_BYTE, i % 2 ? 0 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &q[i]);
    MPI_Irecv(data[7], 16, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &nobody);
    for (int i = 0; i < 2; i++)
        MPI_Recv_init(data[5 + i], 16, MPI_BYTE, 0, 5 + i, MPI_COMM_WORLD, &p[i]);
    MPI_Startall(2, p);
    MPI_Recv_init(data[7], 16, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &one);
    MPI_Start(&one);
    MPI_Wait(&one, MPI_STATUS_IGNORE);
    MPI_Start(&one);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    MPI_Cancel(&q[1]);
    MPI_Wait(&q[1], MPI_STATUS_IGNORE);
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    if (world_rank == 1)
        strand();
    MPI_Send(data[0], 4, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
    MPI_Send(data[0], 4, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(data[0], 4, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 1;
}

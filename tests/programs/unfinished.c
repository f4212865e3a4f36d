/* Receives that are never completed: the first gets its message, the others
 * get none, and for one no message is ever sent (2 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    static char data[5][16];
    MPI_Request q[5];
    begin(argc, argv, 2);
    if (world_rank == 1) {
        MPI_Irecv(data[0], 16, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &q[0]);
        MPI_Irecv(data[1], 16, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &q[1]);
        MPI_Irecv(data[2], 16, MPI_BYTE, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &q[2]);
        for (int i = 3; i < 5; i++)
            MPI_Recv_init(data[i], 16, MPI_BYTE, 0, i, MPI_COMM_WORLD, &q[i]);
        MPI_Start(&q[3]);
        recv_bytes(8, 0, MPI_COMM_WORLD);
    } else {
        MPI_Send(data[0], 9, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        send_bytes(8, 1, MPI_COMM_WORLD);
    }
    return end();
}

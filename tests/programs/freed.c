/* Frees receives while they are active, three of which still get their
 * message, and requests that may be freed (2 ranks). */
#include "check.h"

static char data[8][16];

static void free_receives(void)
{
    MPI_Request q;
    MPI_Irecv(data[0], 16, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &q);
    MPI_Request_free(&q);
    MPI_Irecv(data[1], 16, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &q);
    MPI_Request_free(&q);
    MPI_Recv_init(data[2], 16, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &q);
    MPI_Start(&q);
    MPI_Request_free(&q);
    MPI_Recv_init(data[3], 16, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &q); /* never started */
    MPI_Request_free(&q);
    MPI_Recv_init(data[4], 16, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &q); /* will receive no message */
    MPI_Start(&q);
    MPI_Request_free(&q);
}

int main(int argc, char **argv)
{
    MPI_Request q;
    int flag = 0;
    begin(argc, argv, 2);
    if (world_rank == 1)
        free_receives();
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) {
        for (int tag = 1; tag <= 3; tag++)
            MPI_Ssend(data[0], 10 * tag / 2, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
        send_bytes(6, 1, MPI_COMM_WORLD);
    } else { /* freed after it was seen to be complete: the message is received */
        MPI_Irecv(data[5], 16, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &q);
        while (!flag)
            MPI_Request_get_status(q, &flag, MPI_STATUS_IGNORE);
        MPI_Request_free(&q);
    }
    return end();
}

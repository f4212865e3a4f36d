/* MPI 4's large-count point-to-point functions (2 ranks). */
#include "check.h"

static char in[256], out[256];

static void sender(void)
{
    MPI_Request q[2];
    MPI_Send_c(out, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Ssend_c(out, 2, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Isend_c(out, 4, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &q[0]);
    MPI_Send_init_c(out, 8, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &q[1]);
    MPI_Start(&q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Request_free(&q[1]);
}

static void receiver(void)
{
    MPI_Request q[2];
    MPI_Message message;
    MPI_Recv_c(in, 256, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv_c(in, 256, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Irecv_c(in, 256, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &q[0]);
    MPI_Recv_init_c(in, 256, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &q[1]);
    MPI_Start(&q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Request_free(&q[1]);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    if (world_rank == 0)
        sender();
    else
        receiver();
    MPI_Sendrecv_c(out, 16, MPI_BYTE, 1 - world_rank, 4, in, 256, MPI_BYTE, 1 - world_rank, 4,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}

/* Receives from MPI_PROC_NULL in each form: calls without messages (1 rank). */
#include "check.h"

int main(int argc, char **argv)
{
    char data[8];
    MPI_Request q;
    MPI_Message message;
    int flag;
    begin(argc, argv, 1);
    MPI_Recv(data, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) { /* the MPI may use the same handle for a completed send */
        MPI_Irecv(data, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
        if (i)
            MPI_Request_free(&q);
        else
            MPI_Cancel(&q), MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    MPI_Isend(data, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Recv_init(data, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &q);
    MPI_Start(&q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Request_free(&q);
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(data, 8, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    REQUIRE(flag && message == MPI_MESSAGE_NO_PROC);
    MPI_Imrecv(data, 8, MPI_BYTE, &message, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Sendrecv(data, 8, MPI_BYTE, MPI_PROC_NULL, 0, data, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    /* An empty message counts as a message. */
    MPI_Irecv(data, 8, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &q);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    return end();
}

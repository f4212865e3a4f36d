/* Sends that are or may be cancelled, and receives that fail (2 ranks).
 * The library faulty.c makes them do so. */
#include "check.h"

static char data[100];

static void cancel_sends(void)
{
    MPI_Request q, all[2];
    int flag = 0;
    for (int i = 0; i < 2; i++) {
        MPI_Isend(data, 30, MPI_BYTE, 1, 99, MPI_COMM_WORLD, &all[i]);
        MPI_Cancel(&all[i]);
    }
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    MPI_Isend(data, 30, MPI_BYTE, 1, 99, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    while (!flag)
        MPI_Test(&q, &flag, MPI_STATUS_IGNORE);
    MPI_Isend(data, 30, MPI_BYTE, 1, 99, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    MPI_Request_free(&q); /* so nobody sees that it was cancelled */
}

static void cancel_persistent(void)
{
    MPI_Request q;
    MPI_Send_init(data, 20, MPI_BYTE, 1, 99, MPI_COMM_WORLD, &q);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&q);
        MPI_Cancel(&q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    MPI_Start(&q);
    MPI_Cancel(&q);
    MPI_Request_free(&q); /* so nobody sees that it was cancelled */
}

static void send_to_failing(void)
{
    for (int n = 60; n <= 70; n += 10)
        MPI_Send(data, n, MPI_BYTE, 1, 98, MPI_COMM_WORLD);
    MPI_Sendrecv(data, 80, MPI_BYTE, 1, 98, data, 100, MPI_BYTE, 1, 97, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++)
        MPI_Send(data, 10, MPI_BYTE, 1, 98, MPI_COMM_WORLD);
}

static void fail_to_receive(void)
{
    static char out[90];
    MPI_Message message;
    MPI_Request q;
    REQUIRE(MPI_Recv(data, 100, MPI_BYTE, 0, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Mprobe(0, 98, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    REQUIRE(MPI_Mrecv(data, 100, MPI_BYTE, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    REQUIRE(MPI_Sendrecv(out, 90, MPI_BYTE, 0, 97, data, 100, MPI_BYTE, 0, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS);
    MPI_Recv_init(data, 100, MPI_BYTE, 0, 98, MPI_COMM_WORLD, &q);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&q);
        REQUIRE(MPI_Wait(&q, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    }
    MPI_Request_free(&q);
}

int main(int argc, char **argv)
{
    MPI_Request q;
    begin(argc, argv, 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (world_rank == 0) {
        cancel_sends();
        cancel_persistent();
        MPI_Isend(data, 40, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &q);
        MPI_Cancel(&q); /* too late: the message is sent */
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        MPI_Send(data, 50, MPI_BYTE, 1, 98, MPI_COMM_WORLD);
        send_to_failing();
    } else {
        MPI_Recv(data, 100, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(data, 100, MPI_BYTE, MPI_ANY_SOURCE, 98, MPI_COMM_WORLD, &q);
        REQUIRE(MPI_Wait(&q, MPI_STATUS_IGNORE) != MPI_SUCCESS);
        fail_to_receive();
    }
    return end();
}

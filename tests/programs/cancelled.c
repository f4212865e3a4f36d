/* Receives that are cancelled, with each way to query that, and one that
 * already has its message when it is cancelled (2 ranks). */
#include "check.h"

static char data[3][16];

static void cancel_pair(MPI_Request q[2])
{
    MPI_Irecv(data[0], 16, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &q[0]);
    MPI_Irecv(data[1], 16, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &q[1]);
    MPI_Cancel(&q[0]);
    MPI_Cancel(&q[1]);
}

static void cancel_persistent(void)
{
    MPI_Request q;
    MPI_Recv_init(data[0], 16, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &q);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&q);
        MPI_Cancel(&q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&q);
}

static void look_and_cancel(void)
{
    MPI_Request q;
    int flag = 0;
    MPI_Irecv(data[0], 16, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &q);
    MPI_Cancel(&q);
    while (!flag)
        MPI_Request_get_status(q, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
}

static void cancel_too_late(void)
{
    MPI_Request q;
    MPI_Status status;
    int flag = 0, cancelled;
    MPI_Irecv(data[0], 16, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &q);
    while (!flag)
        MPI_Request_get_status(q, &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&q);
    MPI_Wait(&q, &status);
    MPI_Test_cancelled(&status, &cancelled);
    REQUIRE(!cancelled);
}

int main(int argc, char **argv)
{
    MPI_Request q[2];
    int index, count, indices[2];
    begin(argc, argv, 2);
    if (world_rank == 1) {
        cancel_pair(q);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        cancel_pair(q);
        for (int done = 0; done < 2; done += count)
            MPI_Waitsome(2, q, &count, indices, MPI_STATUSES_IGNORE);
        cancel_pair(q);
        MPI_Waitany(2, q, &index, MPI_STATUS_IGNORE);
        MPI_Waitany(2, q, &index, MPI_STATUS_IGNORE);
        cancel_persistent();
        look_and_cancel();
        cancel_too_late();
    } else {
        MPI_Send(data[0], 11, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
    }
    return end();
}

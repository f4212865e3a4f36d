/* Messages of 100 bytes for receives of 10, with each way to complete a
 * receive, and whole messages of 5 bytes between them (2 ranks). Receives
 * from any source are posted before rank 0 may send: MPICH 5.0 does not
 * check the size of unexpected messages, and writes beyond the buffer. */
#include "check.h"

enum { ROUNDS = 13 };

static char data[2][100];

static int class_of(int rc)
{
    int class;
    MPI_Error_class(rc, &class);
    return class;
}

/* post posts a receive that fits and one that will be truncated, both from any
 * source, and tells rank 0. */
static void post(int tag, MPI_Request q[2])
{
    MPI_Irecv(data[0], 10, MPI_BYTE, MPI_ANY_SOURCE, 100 + tag, MPI_COMM_WORLD, &q[0]);
    MPI_Irecv(data[1], 10, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &q[1]);
    MPI_Send(data[0], 1, MPI_BYTE, 0, 50, MPI_COMM_WORLD);
}

/* rest completes the requests that an MPI leaves active after an error. */
static void rest(MPI_Request q[2])
{
    for (int i = 0; i < 2; i++)
        while (q[i] != MPI_REQUEST_NULL)
            MPI_Wait(&q[i], MPI_STATUS_IGNORE);
}

static void one_by_one(int round, MPI_Request q[2])
{
    int flag = 0, index = -1, rc = MPI_SUCCESS;
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    while (rc == MPI_SUCCESS) {
        switch (round) {
        case 2: rc = MPI_Wait(&q[1], MPI_STATUS_IGNORE); break;
        case 3: rc = MPI_Test(&q[1], &flag, MPI_STATUS_IGNORE); break;
        case 4: rc = MPI_Waitany(2, q, &index, MPI_STATUS_IGNORE); break;
        case 5: rc = MPI_Testany(2, q, &index, &flag, MPI_STATUS_IGNORE); break;
        }
    }
    REQUIRE(class_of(rc) == MPI_ERR_TRUNCATE);
}

static void together(int round, MPI_Request q[2])
{
    MPI_Status statuses[2];
    int flag = 0, count, indices[2], rc = MPI_SUCCESS;
    while (rc == MPI_SUCCESS) {
        switch (round) {
        case 6: rc = MPI_Waitall(2, q, statuses); break;
        case 7: rc = MPI_Testall(2, q, &flag, statuses); break;
        case 8: rc = MPI_Waitsome(2, q, &count, indices, statuses); break;
        case 9: rc = MPI_Testsome(2, q, &count, indices, MPI_STATUSES_IGNORE); break;
        }
    }
    REQUIRE(class_of(rc) == MPI_ERR_IN_STATUS);
}

static void persistent(int tag)
{
    MPI_Request q;
    MPI_Recv_init(data[0], 10, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &q);
    MPI_Start(&q);
    REQUIRE(class_of(MPI_Wait(&q, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    if (q != MPI_REQUEST_NULL)
        MPI_Request_free(&q);
}

static void receive(int round)
{
    MPI_Request q[2];
    MPI_Message message;
    int rc;
    switch (round) {
    case 0:
        rc = MPI_Recv(data[0], 10, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        REQUIRE(class_of(rc) == MPI_ERR_TRUNCATE);
        break;
    case 1:
        MPI_Mprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(data[0], 10, MPI_BYTE, &message, &q[0]);
        REQUIRE(class_of(MPI_Wait(&q[0], MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
        break;
    case 10:
        persistent(round);
        break;
    case 11:
        MPI_Mprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        rc = MPI_Mrecv(data[0], 10, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        REQUIRE(class_of(rc) == MPI_ERR_TRUNCATE);
        break;
    case 12:
        rc = MPI_Sendrecv(data[0], 7, MPI_BYTE, 0, 50, data[1], 10, MPI_BYTE, MPI_ANY_SOURCE, round, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE);
        REQUIRE(class_of(rc) == MPI_ERR_TRUNCATE);
        break;
    default:
        post(round, q);
        if (round < 6)
            one_by_one(round, q);
        else
            together(round, q);
        rest(q);
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < ROUNDS; round++) {
        if (world_rank == 1) {
            receive(round);
            continue;
        }
        /* Rank 1 has posted its receives: it sends this message in `post`, and in
         * its Sendrecv. */
        if (round >= 2 && round != 10 && round != 11)
            MPI_Recv(data[0], 7, MPI_BYTE, 1, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (round >= 2 && round < 10)
            MPI_Send(data[0], 5, MPI_BYTE, 1, 100 + round, MPI_COMM_WORLD);
        MPI_Send(data[0], 100, MPI_BYTE, 1, round, MPI_COMM_WORLD);
    }
    return end();
}

/* Completes requests in each way, with receives from any source and ignored
 * statuses (3 ranks). In round k ranks 1 and 2 send 100 x rank + k bytes. */
#include "check.h"

enum { ROUNDS = 9 };

static void all_by_any(MPI_Request q[2])
{
    int index;
    for (int i = 0; i < 2; i++)
        MPI_Waitany(2, q, &index, MPI_STATUS_IGNORE);
}

static void all_by_some(MPI_Request q[2])
{
    int indices[2], count;
    for (int done = 0; done < 2; done += count)
        MPI_Waitsome(2, q, &count, indices, MPI_STATUSES_IGNORE);
}

static void all_by_test(MPI_Request q[2])
{
    for (int i = 0; i < 2; i++)
        for (int flag = 0; !flag;)
            MPI_Test(&q[i], &flag, MPI_STATUS_IGNORE);
}

static void all_by_testany(MPI_Request q[2])
{
    int index, flag;
    for (int done = 0; done < 2; done += flag && index != MPI_UNDEFINED)
        MPI_Testany(2, q, &index, &flag, MPI_STATUS_IGNORE);
}

static void all_by_testsome(MPI_Request q[2])
{
    int indices[2], count;
    for (int done = 0; done < 2; done += count)
        MPI_Testsome(2, q, &count, indices, MPI_STATUSES_IGNORE);
}

static void complete(int round, MPI_Request q[2])
{
    int flag = 0;
    switch (round) {
    case 0:
        MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        MPI_Wait(&q[1], MPI_STATUS_IGNORE);
        break;
    case 1: MPI_Waitall(2, q, MPI_STATUSES_IGNORE); break;
    case 2: all_by_any(q); break;
    case 3: all_by_some(q); break;
    case 4: all_by_test(q); break;
    case 5:
        while (!flag)
            MPI_Testall(2, q, &flag, MPI_STATUSES_IGNORE);
        break;
    case 6: all_by_testany(q); break;
    case 7: all_by_testsome(q); break;
    case 8: /* queried before it is completed; it counts as one message */
        while (!flag)
            MPI_Request_get_status(q[0], &flag, MPI_STATUS_IGNORE);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static char data[2][512];
    begin(argc, argv, 3);
    for (int k = 0; k < ROUNDS; k++) {
        if (world_rank == 0) {
            MPI_Request q[2];
            for (int i = 0; i < 2; i++)
                MPI_Irecv(data[i], 512, MPI_BYTE, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, &q[i]);
            complete(k, q);
            REQUIRE(q[0] == MPI_REQUEST_NULL && q[1] == MPI_REQUEST_NULL);
        } else {
            MPI_Send(data[0], 100 * world_rank + k, MPI_BYTE, 0, k, MPI_COMM_WORLD);
        }
    }
    return end();
}

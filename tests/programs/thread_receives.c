/* Eight threads of rank 1 receive from eight threads of rank 0 (2 ranks):
 * thread_receives N. Each receives N times 4 messages, of 1 to 4 bytes, from
 * MPI_ANY_SOURCE. It completes them in turn by Waitany, Testsome, Waitall
 * and one by one. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 8, COMMS = 2, POSTED = 4 };

static MPI_Comm comms[COMMS];
static int rounds;

static void wait_any(MPI_Request q[])
{
    int index, left = POSTED;
    for (MPI_Waitany(POSTED, q, &index, MPI_STATUS_IGNORE); index != MPI_UNDEFINED;
         MPI_Waitany(POSTED, q, &index, MPI_STATUS_IGNORE))
        left--;
    REQUIRE(left == 0);
}

static void test_some(MPI_Request q[])
{
    int indices[POSTED];
    for (int n = 0, left = POSTED; left > 0; left -= n)
        MPI_Testsome(POSTED, q, &n, indices, MPI_STATUSES_IGNORE);
}

static void test_each(MPI_Request q[])
{
    for (int i = 0, done = 0; i < POSTED; i += done)
        MPI_Test(&q[i], &done, MPI_STATUS_IGNORE);
}

static void *receive(void *arg)
{
    char in[POSTED][8];
    int t = (int)(size_t)arg;
    MPI_Request q[POSTED];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < POSTED; i++)
            MPI_Irecv(in[i], 8, MPI_BYTE, MPI_ANY_SOURCE, t, comms[t % COMMS], &q[i]);
        switch (round % 4) {
        case 0: wait_any(q); break;
        case 1: test_some(q); break;
        case 2: MPI_Waitall(POSTED, q, MPI_STATUSES_IGNORE); break;
        default: test_each(q);
        }
    }
    return NULL;
}

static void *send(void *arg)
{
    int t = (int)(size_t)arg;
    for (int i = 0; i < rounds * POSTED; i++)
        MPI_Send("abc", 1 + i % POSTED, MPI_BYTE, 1, t, comms[t % COMMS]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE && argc == 2);
    rounds = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, world_rank ? receive : send, (void *)(size_t)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return end();
}

/* Eight threads of each rank use four communicators (2 ranks): thread_sends
 * N. Each sends N messages to MPI_PROC_NULL, and one message to its own rank
 * for each hundred of them. The t-th thread, from 0, sends messages of 8 + t
 * bytes. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 8, COMMS = 4 };

static MPI_Comm comms[COMMS];
static int messages;
/* No thread ends before all have begun; otherwise another could take over its table. */
static pthread_barrier_t done;

static void *send(void *arg)
{
    char in[64], out[64] = "";
    int t = (int)(size_t)arg;
    for (int i = 0; i < messages; i++) {
        MPI_Comm comm = comms[(t + i) % COMMS];
        MPI_Send(out, 1, MPI_BYTE, MPI_PROC_NULL, 0, comm);
        if (i % 100 == 0)
            MPI_Sendrecv(out, 8 + t, MPI_BYTE, world_rank, t, in, 64, MPI_BYTE, world_rank, t, comm, MPI_STATUS_IGNORE);
    }
    pthread_barrier_wait(&done);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE && argc == 2);
    messages = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    pthread_barrier_init(&done, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, send, (void *)(size_t)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return end();
}

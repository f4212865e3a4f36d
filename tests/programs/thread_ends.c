/* 200 threads, at most eight at a time, make new kinds of calls and phases
 * (1 rank). The k-th sends itself k bytes. */
#include "check.h"
#include <mpitrace.h>
#include <pthread.h>

enum { THREADS = 200, TOGETHER = 8 };

static void *send(void *arg)
{
    static _Thread_local char in[THREADS], out[THREADS];
    int k = (int)(size_t)arg;
    mpitrace_phase(k % 2 ? "odd" : "even");
    MPI_Sendrecv(out, k, MPI_BYTE, 0, k, in, THREADS, MPI_BYTE, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[TOGETHER];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    for (int k = 0; k < THREADS; k += TOGETHER) {
        for (int i = 0; i < TOGETHER; i++)
            REQUIRE(pthread_create(&threads[i], NULL, send, (void *)(size_t)(k + i)) == 0);
        for (int i = 0; i < TOGETHER; i++)
            pthread_join(threads[i], NULL);
    }
    return end();
}

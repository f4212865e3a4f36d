/* Four threads of each rank send 10,000 messages each to their own rank, on
 * a communicator per thread (2 ranks). Every thread has sent one message
 * before any of them sends its second. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, MESSAGES = 10000 };

static pthread_barrier_t all_started;

static void *exchange(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    double in, out = 1;
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, world_rank, i, &in, 1, MPI_DOUBLE, world_rank, i, comm,
                     MPI_STATUS_IGNORE);
        if (i == 0)
            pthread_barrier_wait(&all_started);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    REQUIRE(world_size == 2);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    REQUIRE(pthread_barrier_init(&all_started, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, exchange, &comms[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    return end();
}

/* The threads of rank 0 wait for those of rank 1, which sleep first (2 ranks).
 * Argument: "messages": four threads receive one message each. "collectives": four
 * threads meet in five barriers. "helper": one thread exchanges a message, and the
 * main thread computes meanwhile without MPI. */
#include "check.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, BARRIERS = 5, SLEEP_US = 200000 };

static MPI_Comm comms[THREADS];

static void *exchange(void *argument)
{
    int t = (int)(size_t)argument;
    double x = t;
    if (world_rank == 1) {
        usleep(SLEEP_US);
        MPI_Send(&x, 1, MPI_DOUBLE, 0, t, comms[t]);
    } else {
        MPI_Recv(&x, 1, MPI_DOUBLE, 1, t, comms[t], MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void *meet(void *argument)
{
    for (int i = 0; i < BARRIERS; i++) {
        if (world_rank == 1)
            usleep(SLEEP_US / BARRIERS);
        MPI_Barrier(comms[(int)(size_t)argument]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE && argc == 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    int n = strcmp(argv[1], "helper") == 0 ? 1 : THREADS;
    void *(*run)(void *) = strcmp(argv[1], "collectives") == 0 ? meet : exchange;
    for (int t = 0; t < n; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    for (int t = 0; t < n; t++)
        REQUIRE(pthread_create(&threads[t], NULL, run, (void *)(size_t)t) == 0);
    if (n == 1)
        usleep(SLEEP_US);
    for (int t = 0; t < n; t++)
        pthread_join(threads[t], NULL);
    return end();
}

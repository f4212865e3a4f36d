/* The threads of rank 0 wait for those of rank 1, which sleep first (2 ranks).
 * Argument: "messages": four threads receive one message each. "collectives": four
 * threads meet in five barriers. "helper": one thread exchanges a message, and the
 * main thread computes meanwhile without MPI. Each rank prints how long it ran between
 * MPI_Init and MPI_Finalize, how long its threads were in MPI, and how long those lived
 * that it made, from the begin of their first call to the end of their last, in ns. */
#include "check.h"
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, BARRIERS = 5, SLEEP_US = 200000 };

static MPI_Comm comms[THREADS];

static struct {
    long long begin, end, inside;
} times[THREADS + 1]; /* the last is the main thread */

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* add adds a call of a thread that began at a time and ends now. */
static void add(int t, long long begin)
{
    long long end = now();
    if (times[t].begin == 0)
        times[t].begin = begin;
    times[t].end = end;
    times[t].inside += end - begin;
}

static void *exchange(void *argument)
{
    int t = (int)(size_t)argument;
    double x = t;
    if (world_rank == 1) {
        usleep(SLEEP_US);
        long long begin = now();
        MPI_Send(&x, 1, MPI_DOUBLE, 0, t, comms[t]);
        add(t, begin);
    } else {
        long long begin = now();
        MPI_Recv(&x, 1, MPI_DOUBLE, 1, t, comms[t], MPI_STATUS_IGNORE);
        add(t, begin);
    }
    return NULL;
}

static void *meet(void *argument)
{
    int t = (int)(size_t)argument;
    for (int i = 0; i < BARRIERS; i++) {
        if (world_rank == 1)
            usleep(SLEEP_US / BARRIERS);
        long long begin = now();
        MPI_Barrier(comms[t]);
        add(t, begin);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    long long begin = now(), lived = 0, inside = 0;
    REQUIRE(provided == MPI_THREAD_MULTIPLE && argc == 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    int n = strcmp(argv[1], "helper") == 0 ? 1 : THREADS;
    void *(*run)(void *) = strcmp(argv[1], "collectives") == 0 ? meet : exchange;
    for (int t = 0; t < n; t++) {
        long long call = now();
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
        add(THREADS, call);
    }
    for (int t = 0; t < n; t++)
        REQUIRE(pthread_create(&threads[t], NULL, run, (void *)(size_t)t) == 0);
    if (n == 1)
        usleep(SLEEP_US);
    for (int t = 0; t < n; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t <= THREADS; t++) {
        inside += times[t].inside;
        lived += t < THREADS ? times[t].end - times[t].begin : 0;
    }
    printf("%lld %lld %lld\n", now() - begin, inside, lived);
    return MPI_Finalize();
}

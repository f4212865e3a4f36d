/* Two generations of two threads each make a call, sleep and make another one; the
 * main thread sleeps between the generations. It prints two limits of the sum of the
 * threads' lifetimes in ns: from the return of their first call to the start of the
 * last, and around both (1 rank). Arguments: "busy" if the main thread also makes a
 * call, "idle" if not, "killed" if it is idle and ends by a signal. */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TOGETHER = 2, GENERATIONS = 2, SLEEP_US = 50000 };

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void call(int tag)
{
    char in, out = 0;
    MPI_Sendrecv(&out, 1, MPI_CHAR, 0, tag, &in, 1, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

typedef struct limits {
    long long least, most;
    int tag;
} limits;

static void *live(void *argument)
{
    limits *l = argument;
    long long before = now();
    call(l->tag);
    long long after = now();
    usleep(SLEEP_US);
    l->least = now() - after;
    call(l->tag);
    l->most = now() - before;
    return NULL;
}

int main(int argc, char **argv)
{
    long long least = 0, most = 0;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE && argc == 2);
    for (int g = 0; g < GENERATIONS; g++) {
        pthread_t threads[TOGETHER];
        limits l[TOGETHER];
        usleep(2 * SLEEP_US);
        for (int i = 0; i < TOGETHER; i++) {
            l[i].tag = i;
            REQUIRE(pthread_create(&threads[i], NULL, live, &l[i]) == 0);
        }
        for (int i = 0; i < TOGETHER; i++) {
            pthread_join(threads[i], NULL);
            least += l[i].least;
            most += l[i].most;
        }
    }
    if (strcmp(argv[1], "busy") == 0)
        call(0);
    printf("ok\n%lld %lld\n", least, most);
    fflush(stdout);
    if (strcmp(argv[1], "killed") == 0)
        raise(SIGKILL);
    return MPI_Finalize();
}

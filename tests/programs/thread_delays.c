/* Two threads that make calls and one that makes none compute at the same time, on one core, while
 * the main thread waits. The first thread ends before MPI_Finalize, the others do not (1 rank). It
 * prints two limits of the time in ns in which the two threads had no core: from after their first
 * call to before the last, and from before the first to the end; and the number of threads that have
 * at least 5 % of the CPU time of the busiest, before MPI_Finalize. With the argument "killed", a
 * signal ends it instead. */
#include "check.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLING = 2, THREADS = 3, COMPUTE_MS = 150 };

typedef struct use {
    long long cpu, delay;
} use;

static use of_thread(long id)
{
    char path[64];
    use u = {0, 0};
    snprintf(path, sizeof path, "/proc/%d/task/%ld/schedstat", getpid(), id);
    FILE *f = fopen(path, "r");
    if (f) {
        REQUIRE(fscanf(f, "%lld %lld", &u.cpu, &u.delay) == 2);
        fclose(f);
    }
    return u;
}

static long long delay_so_far(void) { return of_thread(syscall(SYS_gettid)).delay; }

static void call(int tag)
{
    char in, out = 0;
    MPI_Sendrecv(&out, 1, MPI_CHAR, 0, tag, &in, 1, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void compute(void)
{
    struct timespec t;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < COMPUTE_MS);
}

static pthread_barrier_t started, computed, finalized;
static long long least[CALLING], most[CALLING];

static void *run(void *argument)
{
    int i = (int)(size_t)argument;
    pthread_barrier_wait(&started);
    if (i < CALLING) {
        long long before = delay_so_far();
        call(i);
        long long after = delay_so_far();
        compute();
        least[i] = delay_so_far() - after;
        call(i);
        most[i] = delay_so_far() - before;
    } else {
        compute();
    }
    if (i > 0) { // the first thread ends
        pthread_barrier_wait(&computed);
        pthread_barrier_wait(&finalized);
    }
    return NULL;
}

static int busy_threads(void)
{
    long long cpu[100], busiest = 0;
    int n = 0, busy = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; n < 100 && (e = readdir(tasks));)
        if (atol(e->d_name) > 0 && (cpu[n] = of_thread(atol(e->d_name)).cpu) > busiest)
            busiest = cpu[n++];
        else if (atol(e->d_name) > 0)
            n++;
    closedir(tasks);
    for (int i = 0; i < n; i++)
        busy += cpu[i] * 20 >= busiest;
    return busy;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    REQUIRE(provided == MPI_THREAD_MULTIPLE);
    pthread_t threads[THREADS];
    pthread_barrier_init(&started, NULL, THREADS);
    pthread_barrier_init(&computed, NULL, THREADS); // without the first, with the main thread
    pthread_barrier_init(&finalized, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, run, (void *)(size_t)i) == 0);
    pthread_join(threads[0], NULL);
    pthread_barrier_wait(&computed);
    printf("ok\n%lld %lld %d\n", least[0] + least[1], most[0] + most[1], busy_threads());
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "killed") == 0)
        raise(SIGKILL);
    int rc = MPI_Finalize();
    pthread_barrier_wait(&finalized);
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return rc;
}

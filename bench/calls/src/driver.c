// Runs loops of MPI calls on request and prints how long they took.
//
//   driver about          prints the MPI, its library and the compiler
//   driver DIR THREADS    reads commands from the FIFO DIR/R, where R is its rank
//
// The command "LOOP WARM CALLS" makes each thread run the loop for WARM calls, and then for CALLS
// calls that are timed. Rank 0 prints the nanoseconds that a thread took. The driver ends at the
// end of the FIFO. With 0 threads it calls MPI_Init, else MPI_Init_thread with MPI_THREAD_MULTIPLE.
//
// The time is wall time. With threads, of which there may be more than processors, it is the CPU
// time of all threads divided by their number.

#define _GNU_SOURCE
#include "place.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct loop {
    const char *name;
    void (*run)(struct place *place, long calls);
} loops[] = {
#define NAME_LOOP(name) {#name, loop_##name},
    EACH_LOOP(NAME_LOOP)};
enum { LOOPS = sizeof loops / sizeof loops[0] };

static struct place places[MAX_THREADS];
static double window; // the memory of the one-sided window
static int threads;                // including the main thread; 0: MPI_Init without threads
static int ranks;

// What the threads do next; they end when `run` is NULL.
static struct {
    void (*run)(struct place *place, long calls);
    long calls;
    pthread_barrier_t start, end;
} job;

static void *work(void *place)
{
    for (;;) {
        pthread_barrier_wait(&job.start);
        if (!job.run)
            return NULL;
        job.run(place, job.calls);
        pthread_barrier_wait(&job.end);
    }
}

static void run_all(void (*run)(struct place *, long), long calls)
{
    if (threads <= 1) {
        run(&places[0], calls);
        return;
    }
    job.run = run;
    job.calls = calls;
    pthread_barrier_wait(&job.start);
    run(&places[0], calls);
    pthread_barrier_wait(&job.end);
}

static double nanoseconds(void)
{
    struct timespec t;
    clock_gettime(threads ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double timed(const struct loop *loop, long warm, long calls)
{
    if (warm > 0)
        run_all(loop->run, warm);
    if (ranks > 1)
        PMPI_Barrier(MPI_COMM_WORLD);
    double start = nanoseconds();
    run_all(loop->run, calls);
    return (nanoseconds() - start) / (threads > 1 ? threads : 1);
}

static void prepare(int thread)
{
    struct place *p = &places[thread];
    MPI_Comm_dup(MPI_COMM_WORLD, &p->dup);
    if (threads)
        MPI_Comm_dup(MPI_COMM_WORLD, &p->comm);
    else
        p->comm = MPI_COMM_WORLD;
    p->group = threads || ranks > 1 ? p->comm : MPI_COMM_SELF;
    MPI_Comm_rank(MPI_COMM_WORLD, &p->self);
    p->peer = (p->self + 1) % ranks;
    MPI_Irecv(&p->in[MAX_RANKS - 1], 1, MPI_DOUBLE, 0, SILENT_TAG, MPI_COMM_SELF, &p->request);
    p->win = MPI_WIN_NULL;
    // Open MPI 4.1 has no windows on one machine under MPI_THREAD_MULTIPLE.
    if (!threads) {
        MPI_Win_create(&window, sizeof window, sizeof window, MPI_INFO_NULL, MPI_COMM_SELF, &p->win);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, p->win);
    }
    for (int i = 0; i < MAX_RANKS; i++)
        p->counts[i] = 1;
    p->fortran.comm = MPI_Comm_c2f(p->comm);
    p->fortran.dup = MPI_Comm_c2f(p->dup);
    p->fortran.group = MPI_Comm_c2f(p->group);
    p->fortran.request = MPI_Request_c2f(p->request);
    p->fortran.win = MPI_Win_c2f(p->win);
    p->fortran.self = p->self;
    p->fortran.peer = p->peer;
}

static void release(int thread)
{
    struct place *p = &places[thread];
    if (p->win != MPI_WIN_NULL) {
        MPI_Win_unlock(0, p->win);
        MPI_Win_free(&p->win);
    }
    MPI_Cancel(&p->request);
    MPI_Wait(&p->request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&p->dup);
    if (threads)
        MPI_Comm_free(&p->comm);
}

static int run_commands(FILE *commands)
{
    char name[64];
    long warm, calls;
    while (fscanf(commands, "%63s %ld %ld", name, &warm, &calls) == 3) {
        int i = 0;
        while (i < LOOPS && strcmp(loops[i].name, name))
            i++;
        if (i == LOOPS) {
            fprintf(stderr, "there is no loop %s\n", name);
            return 2;
        }
        double took = timed(&loops[i], warm, calls);
        if (places[0].self == 0) {
            printf("took: %.0f\n", took);
            fflush(stdout);
        }
    }
    return 0;
}

static const char *file_of(const char *symbol)
{
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, symbol);
    return address && dladdr(address, &info) ? info.dli_fname : "?";
}

static int print_about(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    printf("version: %s\nlibrary: %s\n", version, file_of("PMPI_Send"));
#ifdef __clang__
    printf("compiler: %s\n", __VERSION__);
#else
    printf("compiler: gcc %s\n", __VERSION__);
#endif
    return 0;
}

static FILE *open_commands(const char *dir)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", dir, places[0].self);
    FILE *file = fopen(path, "r");
    if (!file)
        perror(path);
    return file;
}

static int start_threads(pthread_t *started)
{
    pthread_barrier_init(&job.start, NULL, (unsigned)threads);
    pthread_barrier_init(&job.end, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&started[i], NULL, work, &places[i]))
            return 1;
    return 0;
}

static void end_threads(pthread_t *started)
{
    job.run = NULL;
    pthread_barrier_wait(&job.start);
    for (int i = 1; i < threads; i++)
        pthread_join(started[i], NULL);
}

// Answers commands. First prints which library answers the MPI calls, because a benchmark of a tool
// that was not loaded would measure nothing.
static int serve(const char *dir)
{
    pthread_t started[MAX_THREADS];
    FILE *commands = open_commands(dir);
    if (!commands || (threads > 1 && start_threads(started)))
        return 1;
    PMPI_Barrier(MPI_COMM_WORLD); // all ranks have opened their FIFO
    if (places[0].self == 0) {
        printf("answering: %s\n", file_of("MPI_Send"));
        fflush(stdout);
    }
    int status = run_commands(commands);
    if (threads > 1)
        end_threads(started);
    return status;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "about"))
        return print_about();
    threads = argc == 3 ? atoi(argv[2]) : -1;
    if (threads < 0 || threads > MAX_THREADS) {
        fprintf(stderr, "usage: driver about | DIR THREADS\n");
        return 2;
    }
    int provided = MPI_THREAD_MULTIPLE;
    if (threads)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > MAX_RANKS || provided < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "too many ranks, or no MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int places_used = threads ? threads : 1;
    for (int i = 0; i < places_used; i++)
        prepare(i);
    int status = serve(argv[1]);
    for (int i = 0; i < places_used; i++)
        release(i);
    MPI_Finalize();
    return status;
}

// Measures what MPI calls cost that need no partner: one process, no network, so that what a tool
// adds to a call is a visible part of it.
//
//   driver about                             which MPI this is, and who answers its calls
//   driver time TOOL MILLISECONDS REPEATS    Go benchmark lines, the fastest of REPEATS each
//   driver count CALLS...                    each loop once for each number of calls, for callgrind
//
// One iteration of IsendIrecvWaitall is three MPI calls; the others are one.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Callgrind finds the loops through their names: global, and never inlined.
#define LOOP __attribute__((noinline)) void

static int self; // this process's rank in MPI_COMM_WORLD
static double out = 1, in;

LOOP loop_Send(long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Send(&out, 1, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
}

LOOP loop_IsendIrecvWaitall(long calls)
{
    for (long i = 0; i < calls; i++) {
        MPI_Request requests[2];
        MPI_Isend(&out, 1, MPI_DOUBLE, self, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&in, 1, MPI_DOUBLE, self, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

LOOP loop_Sendrecv(long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, self, 1, &in, 1, MPI_DOUBLE, self, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

LOOP loop_Allreduce(long calls)
{
    for (long i = 0; i < calls; i++)
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static const struct {
    const char *name;
    void (*loop)(long calls);
} operations[] = {
    {"Send", loop_Send},
    {"IsendIrecvWaitall", loop_IsendIrecvWaitall},
    {"Sendrecv", loop_Sendrecv},
    {"Allreduce", loop_Allreduce},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static double seconds(void (*loop)(long), long calls)
{
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    loop(calls);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

// The number of calls that takes about `target` seconds.
static long calibrate(void (*loop)(long), double target)
{
    long calls = 256;
    double took;
    while ((took = seconds(loop, calls)) < target / 4)
        calls *= 2;
    return 1 + (long)((double)calls * target / took);
}

// Repeats go round the operations, so that a burst of noise cannot spoil all repeats of one.
static void time_all(const char *tool, double target, int repeats)
{
    long calls[OPERATIONS];
    double best[OPERATIONS];
    for (int op = 0; op < OPERATIONS; op++) {
        calls[op] = calibrate(operations[op].loop, target);
        best[op] = 1e9;
    }
    for (int repeat = 0; repeat < repeats; repeat++)
        for (int op = 0; op < OPERATIONS; op++) {
            double took = seconds(operations[op].loop, calls[op]);
            best[op] = took < best[op] ? took : best[op];
        }
    for (int op = 0; op < OPERATIONS; op++)
        printf("Benchmark%s/tool=%s-1\t%ld\t%.3f ns/call\n", operations[op].name, tool, calls[op],
               1e9 * best[op] / (double)calls[op]);
}

static void count_all(int n, char **calls)
{
    for (int op = 0; op < OPERATIONS; op++)
        for (int i = 0; i < n; i++)
            operations[op].loop(atol(calls[i]));
}

static const char *file_of(const char *symbol)
{
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, symbol);
    return address && dladdr(address, &info) ? info.dli_fname : "?";
}

// Says which library answers the calls: a benchmark of a tool that is not there measures nothing.
static int print_answering(void)
{
    static const char *const called[] = {"MPI_Send",    "MPI_Isend",    "MPI_Irecv",
                                         "MPI_Waitall", "MPI_Sendrecv", "MPI_Allreduce"};
    const char *file = file_of(called[0]);
    for (size_t i = 1; i < sizeof called / sizeof called[0]; i++)
        if (strcmp(file, file_of(called[i]))) {
            fprintf(stderr, "%s comes from %s, %s from %s\n", called[0], file, called[i],
                    file_of(called[i]));
            return 1;
        }
    printf("answering: %s\n", file);
    return 0;
}

static int print_about(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    printf("version: %s\n", version);
    printf("library: %s\n", file_of("PMPI_Send"));
    return print_answering();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "about"))
        return print_about();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &self);
    int status = print_answering();
    if (!strcmp(mode, "time") && argc == 5) {
        time_all(argv[2], 1e-3 * atof(argv[3]), atoi(argv[4]));
    } else if (!strcmp(mode, "count")) {
        count_all(argc - 2, argv + 2);
    } else {
        fprintf(stderr, "usage: driver about | time TOOL MILLISECONDS REPEATS | count CALLS...\n");
        status = 2;
    }
    MPI_Finalize();
    return status;
}

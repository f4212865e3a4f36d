// Measures how long MPI_Init and MPI_Finalize take in the MPI itself, when a library
// in front of it calls them as PMPI_Init and PMPI_Finalize. The rest of the time is
// that library's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <time.h>

long inner_ns[2], inner_cpu_ns[2]; // [0] of MPI_Init, [1] of MPI_Finalize

static long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void count(int which, long start, long cpu)
{
    inner_ns[which] = now(CLOCK_MONOTONIC) - start;
    inner_cpu_ns[which] = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

int PMPI_Init(int *argc, char ***argv)
{
    int (*next)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "PMPI_Init");
    long start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    int rc = next(argc, argv);
    count(0, start, cpu);
    return rc;
}

int PMPI_Finalize(void)
{
    int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "PMPI_Finalize");
    long start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    int rc = next();
    count(1, start, cpu);
    return rc;
}

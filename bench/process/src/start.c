// Initializes and finalizes MPI, and prints one line per rank with the times in ns:
// the wall time of MPI_Init and MPI_Finalize, the CPU time spent outside the MPI in
// each, and the wall time spent outside the MPI in both. "Outside the MPI" is
// measured by inner.c; without a library in front of the MPI these are 0.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

extern long inner_ns[2], inner_cpu_ns[2];

static long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int argc, char **argv)
{
    long at[4], cpu[4];
    at[0] = now(CLOCK_MONOTONIC), cpu[0] = now(CLOCK_PROCESS_CPUTIME_ID);
    MPI_Init(&argc, &argv);
    at[1] = now(CLOCK_MONOTONIC), cpu[1] = now(CLOCK_PROCESS_CPUTIME_ID);
    MPI_Barrier(MPI_COMM_WORLD);
    at[2] = now(CLOCK_MONOTONIC), cpu[2] = now(CLOCK_PROCESS_CPUTIME_ID);
    MPI_Finalize();
    at[3] = now(CLOCK_MONOTONIC), cpu[3] = now(CLOCK_PROCESS_CPUTIME_ID);
    int watched = inner_ns[0] > 0;
    long outside[3] = {0, 0, 0};
    if (watched) {
        outside[0] = cpu[1] - cpu[0] - inner_cpu_ns[0];
        outside[1] = cpu[3] - cpu[2] - inner_cpu_ns[1];
        outside[2] = at[1] - at[0] - inner_ns[0] + at[3] - at[2] - inner_ns[1];
    }
    printf("start: %ld %ld %ld %ld\n", at[1] - at[0] + at[3] - at[2], outside[0], outside[1], outside[2]);
    return 0;
}

// Uses a known amount of CPU time in each phase, measured by getrusage
// around the phase (2 ranks). Rank 0 prints a line "RANK PHASE NS" for each.
// Phases 2 and 3 occur twice, with 60 and 30 ms each time. With the argument
// "killed", SIGKILL ends rank 0 during phase 4.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static long long cpu_ns(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

static long long phase(int level, int ms)
{
    MPI_Pcontrol(level);
    long long from = cpu_ns();
    while (cpu_ns() - from < ms * 1000000LL)
        ;
    return cpu_ns() - from;
}

int main(int argc, char **argv)
{
    int rank, size;
    long long used[2] = {0, 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 2; i++) {
        used[0] += phase(2, 60);
        used[1] += phase(3, 30);
    }
    MPI_Pcontrol(4);
    long long all[2 * size];
    MPI_Gather(used, 2, MPI_LONG_LONG, all, 2, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        puts("ok");
        for (int r = 0; r < size; r++)
            printf("%d 2 %lld\n%d 3 %lld\n", r, all[2 * r], r, all[2 * r + 1]);
        fflush(stdout);
        if (argc > 1 && strcmp(argv[1], "killed") == 0)
            raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

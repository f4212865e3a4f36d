/* Makes a second, slower version of examples/halo, which is compiled with
 *
 *   mpicc -include examples/ci/slow.h -DLATE_US=20000 ...
 *
 * Rank 0 arrives LATE_US microseconds late at each MPI_Allreduce, so that the
 * other ranks wait there. The lines of halo.c stay as they are.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <time.h>

static void arrive_late(void)
{
    const struct timespec time = {LATE_US / 1000000, LATE_US % 1000000 * 1000L};
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        nanosleep(&time, NULL);
}

#define MPI_Allreduce(...) (arrive_late(), MPI_Allreduce(__VA_ARGS__))

/* Five times, each rank sleeps and then meets the others in a barrier (2 ranks): rank 0 sleeps 20 ms
 * and the others 60 ms. Each rank prints what it measured. Arguments:
 *
 *     world             in MPI_COMM_WORLD
 *     killed            the same; then the ranks kill themselves
 *     sessions          the same between two sessions. 50 ms before and after it are within
 *                       an outer session, 100 ms before and after that are outside.
 *     spawn COMMAND...  the same, after the ranks have spawned two processes of a command
 */
#include "check.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SESSIONS (MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5)

enum { STEPS = 5, SHORT_US = 20000, LONG_US = 60000, INSIDE_US = 50000, OUTSIDE_US = 100000 };

static long long slept, met; /* ns in sleep, and in the barriers */

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void rest(int us)
{
    long long begin = now();
    usleep((useconds_t)us);
    slept += now() - begin;
}

static void steps(MPI_Comm comm)
{
    for (int i = 0; i < STEPS; i++) {
        rest(rank_in(comm) == 0 ? SHORT_US : LONG_US);
        long long begin = now();
        MPI_Barrier(comm);
        met += now() - begin;
    }
}

static void print(int rank, long long begin, long long end)
{
    printf("%d %lld %lld %lld %lld\n", rank, begin, end, slept, met);
    fflush(stdout);
}

#if SESSIONS
static MPI_Session opened(void)
{
    MPI_Session session;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS)
        exit(3);
    return session;
}

static int sessions(void)
{
    MPI_Group world;
    MPI_Comm comm;
    usleep(OUTSIDE_US);
    MPI_Session outer = opened();
    long long begin = now();
    rest(INSIDE_US);
    MPI_Session inner = opened();
    MPI_Group_from_session_pset(inner, "mpi://WORLD", &world);
    if (MPI_Comm_create_from_group(world, "org.mpitrace.sleeps", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) != MPI_SUCCESS)
        exit(3);
    int rank = rank_in(comm);
    MPI_Group_free(&world);
    steps(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&inner);
    rest(INSIDE_US);
    long long end = now();
    MPI_Session_finalize(&outer);
    usleep(OUTSIDE_US);
    print(rank, begin, end);
    return 0;
}
#endif

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
#if SESSIONS
    if (strcmp(way, "sessions") == 0)
        return sessions();
#endif
    MPI_Comm children;
    MPI_Init(&argc, &argv);
    long long begin = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    if (strcmp(way, "spawn") == 0)
        MPI_Comm_spawn(argv[2], argv + 3, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    steps(MPI_COMM_WORLD);
    print(world_rank, begin, now());
    if (strcmp(way, "killed") == 0) { /* the last known time is the end of the last call */
        usleep(OUTSIDE_US);
        raise(SIGKILL);
    }
    return MPI_Finalize();
}

/* 8 threads open and close a plug-in with MPI, half of them with RTLD_DEEPBIND, and
 * take functions from the MPI's handle, while the main thread communicates:
 * bypass_threads PLUGIN MPI ROUNDS. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8 };

static char **arguments;
static atomic_int bad;

static void round_of(int deep)
{
    void *plugin = dlopen(arguments[1], RTLD_LAZY | (deep ? RTLD_DEEPBIND : 0)), *mpi = dlopen(arguments[2], RTLD_LAZY);
    int (*rank)(MPI_Comm, int *) = NULL, found = -1;
    if (mpi)
        *(void **)&rank = dlsym(mpi, "MPI_Comm_rank");
    if (!plugin || !rank || rank(MPI_COMM_WORLD, &found) != MPI_SUCCESS || found != world_rank)
        bad++;
    if (plugin)
        dlclose(plugin);
    if (mpi)
        dlclose(mpi);
}

static void *work(void *deep)
{
    for (int i = 0; i < atoi(arguments[3]); i++)
        round_of(deep != NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, sum;
    pthread_t threads[THREADS];
    arguments = argv;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, i % 2 ? argv : NULL);
    for (int i = 0; i < 100; i++)
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    REQUIRE(bad == 0);
    if (world_rank == 0)
        puts("ok");
    return MPI_Finalize();
}

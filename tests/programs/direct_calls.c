/* Calls MPI's functions by their PMPI names: 5 of PMPI_Barrier, beside one MPI_Barrier
 * (argument "barrier"; with "killed" the process then kills itself), or all. With the arguments
 * "finalize", the MPI's library, and plug-ins: calls the plug-ins, and takes PMPI_Finalize from
 * the library. */
#include "check.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

static int (*function(const char *file, const char *name))(void)
{
    void *handle = dlopen(file, RTLD_NOW), *found = handle ? dlsym(handle, name) : NULL;
    int (*f)(void);
    REQUIRE(found != NULL);
    memcpy(&f, &found, sizeof f);
    return f;
}

static int finalize(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 3; i < argc; i++)
        function(argv[i], "work")();
    MPI_Barrier(MPI_COMM_WORLD);
    puts("ok");
    return function(argv[2], "PMPI_Finalize")();
}

int main(int argc, char **argv)
{
    const char *way = argc < 2 ? "all" : argv[1];
    int all = strcmp(way, "all") == 0;
    if (strcmp(way, "finalize") == 0)
        return finalize(argc, argv);
    if (all)
        PMPI_Init(&argc, &argv);
    else
        MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    for (int i = 0; i < 5; i++)
        PMPI_Barrier(MPI_COMM_WORLD);
    if (!all)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(way, "killed") == 0)
        raise(SIGKILL);
    if (world_rank == 0)
        puts("ok");
    return all ? PMPI_Finalize() : MPI_Finalize();
}

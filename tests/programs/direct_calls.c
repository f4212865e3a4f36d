/* Calls MPI's functions by their PMPI names: 5 of PMPI_Barrier, beside one MPI_Barrier
 * (argument "barrier"), or all. */
#include "check.h"

#include <string.h>

int main(int argc, char **argv)
{
    int all = argc < 2 || strcmp(argv[1], "barrier") != 0;
    if (all)
        PMPI_Init(&argc, &argv);
    else
        MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    for (int i = 0; i < 5; i++)
        PMPI_Barrier(MPI_COMM_WORLD);
    if (!all)
        MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0)
        puts("ok");
    return all ? PMPI_Finalize() : MPI_Finalize();
}

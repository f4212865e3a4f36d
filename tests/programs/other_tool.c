/* Another tool's PMPI wrappers (with -DTOOL, a shared object to preload),
 * and a program for it: three barriers, and a message that the tool does not
 * wrap (2 ranks). The tool prints how often it was called. */
#ifdef TOOL
#include <mpi.h>
#include <stdio.h>

static int barriers, groups;

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Group_free(MPI_Group *group)
{
    groups++;
    return PMPI_Group_free(group);
}

int MPI_Finalize(void)
{
    fprintf(stderr, "tool: %d barriers, %d groups\n", barriers, groups);
    return PMPI_Finalize();
}
#else
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    begin(argc, argv, 2);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (world_rank == 0)
        send_bytes(7, 1, comm);
    else
        recv_bytes(7, 0, comm);
    MPI_Comm_free(&comm);
    return end();
}
#endif

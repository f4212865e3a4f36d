/* A plug-in of direct_calls.c, which calls the MPI by a PMPI name. */
#include <mpi.h>
#include <stddef.h>

int work(void);

int work(void)
{
#ifdef BROADCAST
    return PMPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
#else
    return PMPI_Barrier(MPI_COMM_WORLD);
#endif
}

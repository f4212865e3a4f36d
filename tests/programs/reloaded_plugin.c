/* The plugin of reloaded.c (1 rank). It initializes MPI, sends a message of
 * 20 bytes over a communicator of its own, and finalizes MPI. */
#include <mpi.h>
#include <stddef.h>

int run(void)
{
    int initialized, finalized, rank, out[5] = {0}, in[5];
    MPI_Comm comm;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized || finalized)
        return 1;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Sendrecv(out, 5, MPI_INT, rank, 3, in, 5, MPI_INT, rank, 3, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return rank;
}

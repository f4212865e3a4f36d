/* Receives that --receives off follows, and not (2 ranks): rank 0 sends two messages of 64 bytes. Rank 1 receives one by Irecv and Wait, and one by Recv. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, values[16] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Send(values, 16, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Send(values, 16, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Request request;
        MPI_Irecv(values, 16, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(values, 16, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}

/* A communicator and a window that the library does not see being made, as
 * if part of the program called PMPI itself. Both have the ranks in reverse
 * order (2 ranks). World rank 0 sends 12 bytes to 1 on the communicator, and
 * puts 16 bytes to 1 in the window. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Win win;
    static char data[64], memory[64];
    begin(argc, argv, 2);
    PMPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
    PMPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
    if (world_rank == 0)
        MPI_Send(data, 12, MPI_BYTE, 0, 0, comm);
    else
        MPI_Recv(data, 12, MPI_BYTE, 1, 0, comm, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, win);
    if (world_rank == 0)
        MPI_Put(data, 16, MPI_BYTE, 0, 0, 16, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&comm);
    return end();
}

/* A communicator and a window that are made behind the library's back (as by a
 * part of a program that calls PMPI itself), on the ranks in reverse (2 ranks):
 * 12 bytes from world rank 0 to 1 on the one, 16 put by world rank 0 to 1 on the
 * other. */
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

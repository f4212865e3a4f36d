/* MPI_Comm_idup into a variable that no longer exists when its request completes, as
 * in Open MPI's Fortran layer (2 ranks). The duplicate carries 9 bytes from 0 to 1. */
#include "check.h"

#include <string.h>

static MPI_Comm start(MPI_Request *request)
{
    MPI_Comm comm, kept;
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, request);
    kept = comm;
    memset(&comm, 0x5a, sizeof comm);
    __asm__ volatile("" : : "r"(&comm) : "memory");
    return kept;
}

int main(int argc, char **argv)
{
    MPI_Request request;
    begin(argc, argv, 2);
    MPI_Comm comm = start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_name(comm, "moved");
    if (world_rank == 0)
        send_bytes(9, 1, comm);
    else
        recv_bytes(9, 0, comm);
    MPI_Comm_free(&comm);
    return end();
}

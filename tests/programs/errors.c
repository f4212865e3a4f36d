/* Passes a bad datatype on a communicator with MPI_ERRORS_RETURN, while
 * errors on MPI_COMM_WORLD are fatal (2 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    char data[8] = {0};
    MPI_Comm comm;
    MPI_Request request;
    begin(argc, argv, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    REQUIRE(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, comm) != MPI_SUCCESS);
    REQUIRE(MPI_Isend(data, 1, MPI_BYTE, 99, 0, comm, &request) != MPI_SUCCESS);
    REQUIRE(MPI_Recv(data, 1, MPI_DATATYPE_NULL, 0, 0, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    REQUIRE(MPI_Bcast(data, 1, MPI_DATATYPE_NULL, 0, comm) != MPI_SUCCESS);
    if (world_rank == 0)
        send_bytes(5, 1, comm);
    else
        recv_bytes(5, 0, comm);
    MPI_Comm_free(&comm);
    return end();
}

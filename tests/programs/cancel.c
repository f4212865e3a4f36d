/* Cancels one receive, and completes another (2 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    char data[16];
    MPI_Request request;
    MPI_Status status;
    int cancelled;
    begin(argc, argv, 2);
    MPI_Irecv(data, 16, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    REQUIRE(cancelled);
    if (world_rank == 0)
        send_bytes(6, 1, MPI_COMM_WORLD);
    else
        recv_bytes(6, 0, MPI_COMM_WORLD);
    return end();
}

/* A receive completes after its communicator was freed, and after another
 * was made, which may have the same handle (2 ranks). */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    static char data[1000];
    MPI_Request request = MPI_REQUEST_NULL;
    begin(argc, argv, 2);
    MPI_Comm comm = reversed(), next;
    if (world_rank == 1) {
        REQUIRE(rank_in(comm) == 0);
        MPI_Irecv(data, 1000, MPI_BYTE, MPI_ANY_SOURCE, 0, comm, &request);
    } else {
        usleep(200000); /* long enough for rank 1 to free it first */
        send_bytes(700, 0, comm);
    }
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &next);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (world_rank == 0)
        send_bytes(50, 1, next);
    else
        recv_bytes(50, 0, next);
    MPI_Comm_free(&next);
    return end();
}

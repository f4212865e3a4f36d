/* Duplicates a communicator that has neither all ranks nor the order of the
 * world (4 ranks). Its members are 3, 1, 0. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 4);
    MPI_Comm parent, comm;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 2 ? MPI_UNDEFINED : 0, -world_rank, &parent);
    if (world_rank != 2) {
        MPI_Comm_dup(parent, &comm);
        MPI_Comm_set_name(comm, "duplicate");
        int me = rank_in(comm);
        send_bytes(10 * (me + 1), (me + 1) % 3, comm);
        recv_bytes(10 * ((me + 2) % 3 + 1), (me + 2) % 3, comm);
        MPI_Barrier(comm);
        MPI_Comm_free(&parent);
        MPI_Comm_free(&comm);
    } else {
        REQUIRE(parent == MPI_COMM_NULL);
    }
    return end();
}

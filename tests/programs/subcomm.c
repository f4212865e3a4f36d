/* A communicator with the ranks in reverse order of the world (4 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    char data[40];
    begin(argc, argv, 4);
    MPI_Comm comm = reversed();
    int me = rank_in(comm);
    REQUIRE(me == 3 - world_rank);
    if (me < 3)
        send_bytes(100 * (me + 1), me + 1, comm);
    if (me > 0)
        recv_bytes(100 * me, me - 1, comm);
    MPI_Bcast(data, 40, MPI_BYTE, 1, comm);
    MPI_Comm_free(&comm);
    return end();
}

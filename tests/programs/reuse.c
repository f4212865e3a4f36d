/* Makes and frees communicators in turn, with different members each time, so
 * that MPI uses one handle for many (4 ranks). Message k has k bytes. It goes
 * from 0 to 1 and from 2 to 3 if k is odd, else from 0 to 3 and from 1 to 2. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 4);
    MPI_Comm comm, before = MPI_COMM_NULL;
    int reused = 0;
    for (int k = 1; k <= 20; k++) {
        int color = k % 2 ? world_rank / 2 : world_rank % 3 == 0;
        MPI_Comm_split(MPI_COMM_WORLD, color, world_rank, &comm);
        reused += comm == before;
        before = comm;
        if (rank_in(comm) == 0)
            send_bytes(k, 1, comm);
        else
            recv_bytes(k, 0, comm);
        MPI_Comm_free(&comm);
    }
    REQUIRE(reused > 0);
    return end();
}

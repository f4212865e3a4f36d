/* Sends messages round a ring on argv[1] communicators, 12 on each: ever more rows (6 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    static char out[4096], in[4096];
    begin(argc, argv, 6);
    REQUIRE(argc == 2);
    for (int i = 0; i < atoi(argv[1]); i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int k = 0; k < 12; k++)
            MPI_Sendrecv(out, 1 << k, MPI_BYTE, (world_rank + 1) % world_size, k, in, sizeof in, MPI_BYTE,
                         (world_rank + world_size - 1) % world_size, k, comm, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
    return end();
}

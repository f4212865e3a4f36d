/* Makes and frees communicators repeatedly: 200 duplicates at one call
 * site on even ranks and at two on odd ranks, with a message on every 20th,
 * and rings whose edges change every 20 times. */
#include "check.h"

static void use(MPI_Comm comm, int i)
{
    if (i % 20 == 0)
        MPI_Sendrecv(&i, 1, MPI_INT, (world_rank + 1) % world_size, 0, &(int){0}, 1, MPI_INT,
                     (world_rank + world_size - 1) % world_size, 0, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

static void ring(int step)
{
    MPI_Comm comm;
    int to = (world_rank + step) % world_size, from = (world_rank + world_size - step) % world_size, got;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &comm);
    MPI_Neighbor_allgather(&world_rank, 1, MPI_INT, &got, 1, MPI_INT, comm);
    REQUIRE(got == from);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 3);
    MPI_Comm comm;
    for (int i = 0; i < 200; i++) {
        if (world_rank % 2 && i >= 100)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        else
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        use(comm, i);
    }
    for (int i = 0; i < 80; i++)
        ring(1 + i / 20 % 2);
    return end();
}

/* Neighbourhood collectives on graphs (4 ranks): a ring by Graph_create, and
 * directed graphs with each edge r -> r+1 twice and each edge r -> r+2 once. */
#include "check.h"

static char in[1024], out[1024];

static void ring(void)
{
    const int index[4] = {2, 4, 6, 8}, edges[8] = {3, 1, 0, 2, 1, 3, 2, 0};
    MPI_Comm comm;
    MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &comm);
    MPI_Neighbor_allgather(out, 9, MPI_BYTE, in, 9, MPI_BYTE, comm);
    MPI_Comm_free(&comm);
}

static MPI_Comm adjacent(void)
{
    int next = (world_rank + 1) % 4, last = (world_rank + 3) % 4, across = (world_rank + 2) % 4;
    const int from[3] = {last, last, across}, to[3] = {next, next, across};
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, MPI_UNWEIGHTED, 3, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    return comm;
}

static void directed(void)
{
    int last = (world_rank + 3) % 4, across = (world_rank + 2) % 4, places[3] = {0, 300, 600};
    int send[3] = {5 + world_rank, 50 + world_rank, 100 + world_rank};
    int receive[3] = {5 + last, 50 + last, 100 + across};
    MPI_Comm comm = adjacent();
    MPI_Neighbor_alltoallv(out, send, places, MPI_BYTE, in, receive, places, MPI_BYTE, comm);
    MPI_Comm_free(&comm);
}

/* from_one makes a graph of which only rank 0 specifies the edges. */
static void from_one(void)
{
    const int nodes[4] = {0, 1, 2, 3}, degrees[4] = {1, 1, 1, 1}, to[4] = {2, 3, 0, 1};
    MPI_Comm comm;
    MPI_Dist_graph_create(MPI_COMM_WORLD, world_rank == 0 ? 4 : 0, nodes, degrees, to, MPI_UNWEIGHTED,
                          MPI_INFO_NULL, 0, &comm);
    MPI_Neighbor_alltoall(out, 21, MPI_BYTE, in, 21, MPI_BYTE, comm);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 4);
    ring();
    directed();
    from_one();
    return end();
}

/* Neighbourhood collectives on a row-major Cartesian grid of 2 x 2
 * (4 ranks). By default the grid has open ends, so that two of the four
 * neighbours are MPI_PROC_NULL. With PERIODIC, the neighbours on both sides
 * are the same rank, and each edge exists twice. */
#include "forms.h"

enum { EDGES = 4, ROOM = 64 };

#ifdef PERIODIC
static const int periods[2] = {1, 1};
#else
static const int periods[2] = {0, 0};
#endif

static char in[EDGES * ROOM], out[EDGES * ROOM];
static count_type send[EDGES], receive[EDGES];

static void gathers(MPI_Comm grid, const int neighbour[])
{
    displ_type places[EDGES];
    for (int k = 0; k < EDGES; k++) {
        receive[k] = neighbour[k] == MPI_PROC_NULL ? 0 : 11 + neighbour[k];
        places[k] = k * ROOM;
    }
    CALL(Neighbor_allgather, neighbor_allgather, out, 10, MPI_BYTE, in, 10, MPI_BYTE, grid);
    CALL(Neighbor_allgatherv, neighbor_allgatherv, out, 11 + world_rank, MPI_BYTE, in, receive,
         places, MPI_BYTE, grid);
}

/* all_to_alls sends the same amount along both edges of a dimension. Only
 * since 4.0 does the Standard specify which of two messages between the same
 * processes is received in which place. */
static void all_to_alls(MPI_Comm grid, const int neighbour[])
{
    displ_type places[EDGES];
    MPI_Aint addresses[EDGES];
    MPI_Datatype types[EDGES];
    CALL(Neighbor_alltoall, neighbor_alltoall, out, 12, MPI_BYTE, in, 12, MPI_BYTE, grid);
    for (int k = 0; k < EDGES; k++) {
        send[k] = 13 + 4 * world_rank + k / 2;
        receive[k] = 13 + 4 * (neighbour[k] == MPI_PROC_NULL ? 0 : neighbour[k]) + k / 2;
        places[k] = k * ROOM;
        addresses[k] = k * ROOM;
        types[k] = k < 2 ? MPI_INT : MPI_SHORT;
    }
    CALL(Neighbor_alltoallv, neighbor_alltoallv, out, send, places, MPI_BYTE, in, receive, places,
         MPI_BYTE, grid);
    for (int k = 0; k < EDGES; k++)
        send[k] = receive[k] = 2 + k / 2;
    CALL(Neighbor_alltoallw, neighbor_alltoallw, out, send, addresses, types, in, receive, addresses,
         types, grid);
}

int main(int argc, char **argv)
{
    const int dims[2] = {2, 2};
    int neighbour[EDGES];
    MPI_Comm grid;
    begin(argc, argv, 4);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    for (int d = 0; d < 2; d++)
        MPI_Cart_shift(grid, d, 1, &neighbour[2 * d], &neighbour[2 * d + 1]);
    gathers(grid, neighbour);
    all_to_alls(grid, neighbour);
    MPI_Comm_free(&grid);
    return end();
}

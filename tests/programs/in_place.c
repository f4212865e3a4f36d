/* Calls each collective that accepts MPI_IN_PLACE with it (4 ranks). The
 * arguments that it makes insignificant are invalid. */
#include "forms.h"

enum { N = 4, ROOM = 64 };

/* MPICH 4.0's nonblocking Alltoallw in place is wrong if the types differ. */
#if defined NONBLOCKING || defined PERSISTENT
#define ODD MPI_INT
#else
#define ODD MPI_SHORT
#endif

static char data[N * ROOM * 4], out[ROOM];
static int numbers[64];
static count_type counts[N];
static displ_type places[N];

static void rooted(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int root = world_rank == 1;
    const void *send = root ? MPI_IN_PLACE : out;
    CALL(Gather, gather, send, root ? 0 : 3, root ? MPI_DATATYPE_NULL : MPI_BYTE, data, 3, MPI_BYTE,
         1, world);
    for (int i = 0; i < N; i++)
        counts[i] = 4 + i;
    CALL(Gatherv, gatherv, send, root ? 0 : 4 + world_rank, root ? MPI_DATATYPE_NULL : MPI_BYTE,
         data, counts, places, MPI_BYTE, 1, world);
    void *receive = root ? MPI_IN_PLACE : (void *)out;
#ifndef NO_SCATTER_INIT
    CALL(Scatter, scatter, data, 5, MPI_BYTE, receive, root ? 0 : 5,
         root ? MPI_DATATYPE_NULL : MPI_BYTE, 1, world);
#endif
    for (int i = 0; i < N; i++)
        counts[i] = 6 + i;
    CALL(Scatterv, scatterv, data, counts, places, MPI_BYTE, receive, root ? 0 : 6 + world_rank,
         root ? MPI_DATATYPE_NULL : MPI_BYTE, 1, world);
    CALL(Reduce, reduce, root ? MPI_IN_PLACE : (void *)out, numbers, 2, MPI_INT, MPI_SUM, 1, world);
}

static void all_to_all(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype types[N], none[N];
    count_type nothing[N] = {0};
    displ_type nowhere[N] = {0};
    CALL(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 7, MPI_BYTE, world);
    for (int i = 0; i < N; i++)
        counts[i] = 8 + i;
    CALL(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts, places, MPI_BYTE,
         world);
    CALL(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 9, MPI_BYTE, world);
    for (int i = 0; i < N; i++) {
        counts[i] = 10 + world_rank + i;
        types[i] = (world_rank + i) % 2 ? ODD : MPI_INT;
        none[i] = MPI_DATATYPE_NULL;
    }
    CALL(Alltoallv, alltoallv, MPI_IN_PLACE, nothing, nowhere, MPI_DATATYPE_NULL, data, counts,
         places, MPI_BYTE, world);
    for (int i = 0; i < N; i++)
        counts[i] = 1 + world_rank + i;
    CALL(Alltoallw, alltoallw, MPI_IN_PLACE, nothing, nowhere, none, data, counts, places, types,
         world);
}

static void reductions(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    CALL(Allreduce, allreduce, MPI_IN_PLACE, numbers, 3, MPI_INT, MPI_SUM, world);
    for (int i = 0; i < N; i++)
        counts[i] = 1 + i;
    CALL(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, numbers, counts, MPI_INT, MPI_SUM, world);
    CALL(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, numbers, 4, MPI_INT, MPI_SUM,
         world);
    CALL(Scan, scan, MPI_IN_PLACE, numbers, 5, MPI_INT, MPI_SUM, world);
    CALL(Exscan, exscan, MPI_IN_PLACE, numbers, 6, MPI_INT, MPI_SUM, world);
}

int main(int argc, char **argv)
{
    begin(argc, argv, N);
    for (int i = 0; i < N; i++)
        places[i] = i * ROOM;
    rooted();
    all_to_all();
    reductions();
    return end();
}

/* Calls each collective once, with a different size (4 ranks). Arguments
 * that are significant only at the root are invalid on other ranks. */
#include "forms.h"

enum { N = 4, ROOM = 64 };

static char in[N * ROOM * 4], out[N * ROOM * 4];
static int numbers[64], sums[64];
static count_type counts[N], others[N];
static displ_type places[N];

static void rooted(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int r = world_rank;
    CALL(Bcast, bcast, out, 10, MPI_BYTE, 1, world);
    CALL(Gather, gather, out, 11, MPI_BYTE, r == 2 ? in : NULL, r == 2 ? 11 : -1,
         r == 2 ? MPI_BYTE : MPI_DATATYPE_NULL, 2, world);
    for (int i = 0; i < N; i++)
        counts[i] = 12 + i;
    CALL(Gatherv, gatherv, out, 12 + r, MPI_BYTE, r == 0 ? in : NULL, r == 0 ? counts : NULL,
         r == 0 ? places : NULL, r == 0 ? MPI_BYTE : MPI_DATATYPE_NULL, 0, world);
#ifndef NO_SCATTER_INIT
    CALL(Scatter, scatter, r == 3 ? out : NULL, r == 3 ? 13 : -1,
         r == 3 ? MPI_BYTE : MPI_DATATYPE_NULL, in, 13, MPI_BYTE, 3, world);
#endif
    for (int i = 0; i < N; i++)
        counts[i] = 14 + i;
    CALL(Scatterv, scatterv, r == 1 ? out : NULL, r == 1 ? counts : NULL, r == 1 ? places : NULL,
         r == 1 ? MPI_BYTE : MPI_DATATYPE_NULL, in, 14 + r, MPI_BYTE, 1, world);
    CALL(Reduce, reduce, numbers, sums, 5, MPI_INT, MPI_SUM, 3, world);
}

static void all_to_all(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    CALL(Allgather, allgather, out, 15, MPI_BYTE, in, 15, MPI_BYTE, world);
    for (int i = 0; i < N; i++)
        counts[i] = 16 + i;
    CALL(Allgatherv, allgatherv, out, 16 + world_rank, MPI_BYTE, in, counts, places, MPI_BYTE, world);
    CALL(Alltoall, alltoall, out, 17, MPI_BYTE, in, 17, MPI_BYTE, world);
    for (int i = 0; i < N; i++) {
        counts[i] = 18 + 4 * world_rank + i;
        others[i] = 18 + 4 * i + world_rank;
    }
    CALL(Alltoallv, alltoallv, out, counts, places, MPI_BYTE, in, others, places, MPI_BYTE, world);
    /* Even ranks receive ints, odd ranks shorts. */
    MPI_Datatype to[N], from[N];
    for (int i = 0; i < N; i++) {
        counts[i] = world_rank + 1;
        others[i] = i + 1;
        to[i] = i % 2 ? MPI_SHORT : MPI_INT;
        from[i] = world_rank % 2 ? MPI_SHORT : MPI_INT;
    }
    CALL(Alltoallw, alltoallw, out, counts, places, to, in, others, places, from, world);
}

static void reductions(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    CALL(Allreduce, allreduce, numbers, sums, 6, MPI_INT, MPI_SUM, world);
    for (int i = 0; i < N; i++)
        counts[i] = 1 + i;
    CALL(Reduce_scatter, reduce_scatter, numbers, sums, counts, MPI_INT, MPI_SUM, world);
    CALL(Reduce_scatter_block, reduce_scatter_block, numbers, sums, 2, MPI_INT, MPI_SUM, world);
    CALL(Scan, scan, numbers, sums, 3, MPI_INT, MPI_SUM, world);
    CALL(Exscan, exscan, numbers, sums, 4, MPI_INT, MPI_SUM, world);
}

int main(int argc, char **argv)
{
    begin(argc, argv, N);
    for (int i = 0; i < N; i++)
        places[i] = i * ROOM;
#ifndef LARGE /* a barrier has no count */
    CALL(Barrier, barrier, MPI_COMM_WORLD);
#endif
    rooted();
    all_to_all();
    reductions();
    return end();
}

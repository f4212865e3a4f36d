/* Calls each collective once on an intercommunicator (4 ranks). The left
 * group has world rank 0, the right one 3, 2, 1. The sender's own rank must
 * not be left out: rank 0 of the left group sends to rank 0 of the right one. */
#include "forms.h"

static MPI_Comm inter;
static int left, me, there;
static char in[256], out[256];
static int numbers[16], sums[16];
static count_type send[3], receive[3];
static displ_type places[3] = {0, 64, 128};

/* root_of returns the root argument for a root that is a member of one group. */
static int root_of(int in_left, int member)
{
    if (left != in_left)
        return member;
    return me == member ? MPI_ROOT : MPI_PROC_NULL;
}

/* rooted passes invalid arguments (no counts) where they are significant only at
 * the root. */
static void rooted(void)
{
    int root = root_of(0, 1);
    CALL(Bcast, bcast, out, 10, MPI_BYTE, root, inter);
    receive[0] = send[0] = 14;
    CALL(Scatterv, scatterv, out, root == MPI_ROOT ? send : NULL, places, MPI_BYTE, in, left ? 14 : 0, MPI_BYTE, root,
         inter);
    root = root_of(0, 0);
    receive[0] = 12;
    CALL(Gatherv, gatherv, out, left ? 12 : 0, MPI_BYTE, in, root == MPI_ROOT ? receive : NULL, places, MPI_BYTE, root,
         inter);
    CALL(Gather, gather, out, 11, MPI_BYTE, in, 11, MPI_BYTE, root_of(1, 0), inter);
#ifndef NO_SCATTER_INIT
    CALL(Scatter, scatter, out, 13, MPI_BYTE, in, 13, MPI_BYTE, root_of(1, 0), inter);
#endif
    CALL(Reduce, reduce, numbers, sums, 5, MPI_INT, MPI_SUM, root_of(0, 2), inter);
}

static void all_to_all(void)
{
    MPI_Datatype to[3], from[3];
    CALL(Allgather, allgather, out, left ? 6 : 9, MPI_BYTE, in, left ? 9 : 6, MPI_BYTE, inter);
    CALL(Alltoall, alltoall, out, left ? 4 : 7, MPI_BYTE, in, left ? 7 : 4, MPI_BYTE, inter);
    for (int k = 0; k < there; k++)
        receive[k] = left ? 16 + k : 15;
    CALL(Allgatherv, allgatherv, out, left ? 15 : 16 + me, MPI_BYTE, in, receive, places, MPI_BYTE, inter);
    for (int k = 0; k < there; k++) {
        int member = left ? k : me; /* rank in the right group */
        send[k] = left ? 20 + member : 30 + member;
        receive[k] = left ? 30 + member : 20 + member;
        to[k] = from[k] = member % 2 ? MPI_SHORT : MPI_INT;
    }
    CALL(Alltoallv, alltoallv, out, send, places, MPI_BYTE, in, receive, places, MPI_BYTE, inter);
    for (int k = 0; k < there; k++) {
        send[k] = left ? 1 : 2;
        receive[k] = left ? 2 : 1;
    }
    CALL(Alltoallw, alltoallw, out, send, places, to, in, receive, places, from, inter);
}

int main(int argc, char **argv)
{
    MPI_Comm local;
    begin(argc, argv, 4);
    left = world_rank == 0;
    MPI_Comm_split(MPI_COMM_WORLD, left, -world_rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, left ? 3 : 0, 7, &inter);
    MPI_Comm_set_name(inter, "between");
    me = rank_in(inter);
    MPI_Comm_remote_size(inter, &there);
    rooted();
    all_to_all();
    CALL(Allreduce, allreduce, numbers, sums, 2, MPI_INT, MPI_SUM, inter);
#ifndef NO_SCATTER_INIT /* nor does this one work between groups: MPI_Wait fails */
    CALL(Reduce_scatter_block, reduce_scatter_block, numbers, sums, left ? 3 : 1, MPI_INT, MPI_SUM, inter);
#endif
#ifndef LARGE /* a barrier has no count */
    CALL(Barrier, barrier, inter);
#endif
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    return end();
}

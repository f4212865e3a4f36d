/* An intercommunicator between groups of different sizes, each in reverse order
 * of the world: left has world ranks 1, 0 and right 4, 3, 2 (5 ranks). */
#include "check.h"

static MPI_Comm inter;
static int left, me, here, there;

static void point_to_point(void)
{
    static char data[64];
    MPI_Request requests[3];
    if (left) {
        for (int j = 0; j < 3; j++)
            MPI_Isend(data, 10 * (me + 1) + j, MPI_BYTE, j, 0, inter, &requests[j]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else {
        for (int i = 0; i < 2; i++)
            recv_bytes(10 * (i + 1) + me, i, inter);
    }
}

/* root_of returns the root argument for a root that is the given member of
 * one of the groups. */
static int root_of(int in_left, int member)
{
    if (left != in_left)
        return member;
    return me == member ? MPI_ROOT : MPI_PROC_NULL;
}

static void rooted(void)
{
    char in[64], out[128] = {0};
    int numbers[3] = {1, 2, 3}, sums[3];
    MPI_Bcast(out, 100, MPI_BYTE, root_of(1, 1), inter);
    MPI_Gather(out, 8, MPI_BYTE, in, 8, MPI_BYTE, root_of(0, 2), inter);
    MPI_Scatter(out, 5, MPI_BYTE, in, 5, MPI_BYTE, root_of(0, 0), inter);
    MPI_Reduce(numbers, sums, 3, MPI_INT, MPI_SUM, root_of(1, 0), inter);
}

static void all_to_all(void)
{
    static char in[256], out[256];
    int numbers[6] = {0}, sums[6];
    int send[3], receive[3], at[3];
    MPI_Allgather(out, left ? 6 : 9, MPI_BYTE, in, left ? 9 : 6, MPI_BYTE, inter);
    MPI_Alltoall(out, left ? 4 : 7, MPI_BYTE, in, left ? 7 : 4, MPI_BYTE, inter);
    for (int k = 0; k < there; k++) {
        send[k] = left ? 10 + 3 * me + k : 20 + 2 * me + k;
        receive[k] = left ? 20 + 2 * k + me : 10 + 3 * k + me;
        at[k] = 64 * k;
    }
    MPI_Alltoallv(out, send, at, MPI_BYTE, in, receive, at, MPI_BYTE, inter);
    MPI_Allreduce(numbers, sums, 2, MPI_INT, MPI_SUM, inter);
    MPI_Reduce_scatter_block(numbers, sums, there, MPI_INT, MPI_SUM, inter);
    MPI_Barrier(inter);
}

static void merged(void)
{
    MPI_Comm comm, twin;
    MPI_Intercomm_merge(inter, left, &comm);
    REQUIRE(rank_in(comm) == 4 - world_rank);
    if (world_rank == 4)
        send_bytes(33, 4, comm);
    if (world_rank == 0)
        recv_bytes(33, 0, comm);
    MPI_Comm_dup(inter, &twin);
    if (left && me == 0)
        send_bytes(3, 1, twin);
    if (!left && me == 1)
        recv_bytes(3, 0, twin);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&twin);
}

int main(int argc, char **argv)
{
    MPI_Comm local;
    begin(argc, argv, 5);
    left = world_rank < 2;
    MPI_Comm_split(MPI_COMM_WORLD, left, -world_rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, left ? 4 : 1, 7, &inter);
    MPI_Comm_set_name(inter, "between");
    me = rank_in(inter);
    MPI_Comm_size(inter, &here);
    MPI_Comm_remote_size(inter, &there);
    REQUIRE(here + there == 5);
    point_to_point();
    rooted();
    all_to_all();
    merged();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    return end();
}

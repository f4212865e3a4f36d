/* Makes a communicator in each way (4 ranks). Each gets a name, and its
 * first rank sends a message to its last. */
#include "check.h"

static void use(MPI_Comm comm, const char *name)
{
    int size;
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_set_name(comm, name);
    MPI_Comm_size(comm, &size);
    if (rank_in(comm) == 0)
        send_bytes(size, size - 1, comm);
    if (rank_in(comm) == size - 1)
        recv_bytes(size, 0, comm);
    MPI_Comm_free(&comm);
}

static MPI_Group group_of(int n, const int ranks[])
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

static void from_groups(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group group = group_of(3, (const int[]){3, 0, 2});
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm); /* rank 1 calls it and gets MPI_COMM_NULL */
    use(comm, "create");
    comm = MPI_COMM_NULL;
    if (world_rank != 1) /* only the members call it */
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comm);
    use(comm, "create_group");
    MPI_Group_free(&group);
}

static void from_splits(void)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &comm);
    use(comm, world_rank % 2 ? "odd" : "even");
    MPI_Comm_split(MPI_COMM_WORLD, world_rank < 2 ? MPI_UNDEFINED : 0, world_rank, &comm);
    use(comm, "upper");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -world_rank, MPI_INFO_NULL, &comm);
    use(comm, "node");
}

static void from_copies(void)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
    use(comm, "dup_with_info");
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(comm, "idup");
}

static void from_grids(void)
{
    const int dims[2] = {2, 2}, periods[2] = {0, 0}, keep[2] = {0, 1};
    MPI_Comm grid, row;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_sub(grid, keep, &row);
    use(row, world_rank < 2 ? "first row" : "second row");
    use(grid, "grid");
    const int line[1] = {3};
    MPI_Cart_create(MPI_COMM_WORLD, 1, line, periods, 0, &grid); /* rank 3 gets MPI_COMM_NULL */
    use(grid, "line");
}

int main(int argc, char **argv)
{
    begin(argc, argv, 4);
    from_groups();
    from_splits();
    from_copies();
    from_grids();
    return end();
}

/* Collectives and communicators of rank 1 of 4 under the null MPI: each function is a phase
 * of its own. TestCollectives has what each must have sent. */
#include "check.h"
#include "nullmpi.h"

#include <mpitrace.h>

static int out[100], in[100];
static const int counts[4] = {1, 2, 3, 4}, places[4] = {0, 1, 3, 6};
static MPI_Comm world = MPI_COMM_WORLD;

static void rooted(void)
{
    for (int root = 0; root < 2; root++) {
        MPI_Bcast(out, 5, MPI_INT, root, world);
        MPI_Scatter(out, 6, MPI_INT, in, 6, MPI_INT, root, world);
        MPI_Scatterv(out, counts, places, MPI_INT, in, 2, MPI_INT, root, world);
        MPI_Gather(out, 7, MPI_INT, in, 7, MPI_INT, root, world);
        MPI_Gatherv(out, 8, MPI_INT, in, counts, places, MPI_INT, root, world);
        MPI_Reduce(out, in, 9, MPI_INT, MPI_SUM, root, world);
    }
}

static void to_all(void)
{
    MPI_Datatype types[4] = {MPI_INT, MPI_INT, MPI_SHORT, MPI_SHORT};
    MPI_Barrier(world);
    MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, world);
    MPI_Allgatherv(out, 2, MPI_INT, in, counts, places, MPI_INT, world);
    MPI_Alltoall(out, 3, MPI_INT, in, 3, MPI_INT, world);
    MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, world);
    MPI_Alltoallw(out, counts, places, types, in, counts, places, types, world);
    MPI_Allreduce(out, in, 4, MPI_INT, MPI_SUM, world);
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, world);
    MPI_Reduce_scatter_block(out, in, 5, MPI_INT, MPI_SUM, world);
    MPI_Scan(out, in, 6, MPI_INT, MPI_SUM, world);
    MPI_Exscan(out, in, 7, MPI_INT, MPI_SUM, world);
}

static void later(void)
{
    MPI_Request q;
    MPI_Iallreduce(out, in, 4, MPI_INT, MPI_SUM, world, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Alltoall_init(out, 3, MPI_INT, in, 3, MPI_INT, world, MPI_INFO_NULL, &q);
    for (int i = 0; i < 5; i++) {
        MPI_Start(&q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&q);
}

static void failed(void)
{
    null_fail("Allreduce", MPI_ERR_OTHER);
    REQUIRE(MPI_Allreduce(out, in, 4, MPI_INT, MPI_SUM, world) == MPI_ERR_OTHER);
    MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, world);
}

static void use(MPI_Comm comm)
{
    MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
}

/* A communicator whose making fails does not exist; what it was given is unchanged. */
static void communicators(void)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request q;
    null_fail("Comm_dup", MPI_ERR_OTHER);
    REQUIRE(MPI_Comm_dup(world, &made) == MPI_ERR_OTHER && made == MPI_COMM_NULL);
    null_fail("Comm_idup", MPI_ERR_OTHER);
    REQUIRE(MPI_Comm_idup(world, &made, &q) == MPI_ERR_OTHER && made == MPI_COMM_NULL);
    MPI_Comm_dup(world, &made);
    MPI_Comm_set_name(made, "duplicate");
    null_fail("Comm_free", MPI_ERR_OTHER);
    REQUIRE(MPI_Comm_free(&made) == MPI_ERR_OTHER && made != MPI_COMM_NULL);
    use(made);
    MPI_Comm_split(world, MPI_UNDEFINED, 0, &made);
    REQUIRE(made == MPI_COMM_NULL);
    MPI_Comm_split(world, 0, 0, &made);
    MPI_Comm_set_name(made, "split");
    use(made);
    MPI_Comm_dup(MPI_COMM_SELF, &made);
    MPI_Comm_set_name(made, "alone");
    use(made);
}

/* In a row of 2 by 2 each process has two neighbors, on both sides the same. */
static void neighbors(void)
{
    MPI_Comm grid;
    MPI_Cart_create(world, 2, (int[]){2, 2}, (int[]){1, 1}, 0, &grid);
    MPI_Comm_set_name(grid, "grid");
    MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, grid);
    MPI_Neighbor_alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, grid);
    MPI_Comm_free(&grid);
}

static void onesided(void)
{
    MPI_Win win;
    MPI_Win_create(in, sizeof in, sizeof *in, MPI_INFO_NULL, world, &win);
    MPI_Win_fence(0, win);
    MPI_Put(out, 3, MPI_INT, 2, 0, 3, MPI_INT, win);
    MPI_Get(out, 4, MPI_INT, 3, 0, 4, MPI_INT, win);
    MPI_Accumulate(out, 5, MPI_INT, 0, 0, 5, MPI_INT, MPI_SUM, win);
    MPI_Put(out, 3, MPI_INT, MPI_PROC_NULL, 0, 3, MPI_INT, win);
    null_fail("Put", MPI_ERR_OTHER);
    REQUIRE(MPI_Put(out, 3, MPI_INT, 2, 0, 3, MPI_INT, win) == MPI_ERR_OTHER);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } phases[] = {
        {"rooted", rooted}, {"to all", to_all}, {"later", later}, {"failed", failed},
        {"communicators", communicators}, {"neighbors", neighbors}, {"one-sided", onesided},
    };
    begin(argc, argv, 4);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        mpitrace_phase(phases[i].name);
        phases[i].run();
    }
    puts("ok");
    return MPI_Finalize();
}

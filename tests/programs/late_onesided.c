/* One rank is late and others wait for it: when windows and communicators are made,
 * at fences, in passive and active target synchronization and in neighbourhood
 * collectives (3 ranks). Prints "ok", and then one line per wait with its length. */
#include "late.h"

static int memory[16], in[8], out[8];
static MPI_Win made;    /* on memory of the program: some MPIs need the target to take part */
static MPI_Win direct;  /* on memory that the MPI allocated */
static MPI_Comm ring;   /* each rank has its successor as its only outgoing neighbour */
static MPI_Group all;

static void one_late(int rank) { arrive(world_rank == rank ? LATE : 0); }

static void create_window(void)
{
    MPI_Win win;
    one_late(1);
    MPI_Win_create(in, sizeof in, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win); /* waits */
    synchronize();
    MPI_Win_free(&win);
}

static void allocate_window(void)
{
    MPI_Win win;
    int *at;
    one_late(2);
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &win); /* waits */
    synchronize();
    MPI_Win_free(&win);
}

static void free_window(void)
{
    MPI_Win win;
    int *at;
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &win);
    synchronize();
    one_late(0);
    MPI_Win_free(&win); /* waits */
}

static void fence(void)
{
    MPI_Win_fence(0, made);
    MPI_Put(out, 4, MPI_INT, (world_rank + 1) % 3, 0, 4, MPI_INT, made);
    synchronize();
    one_late(1);
    MPI_Win_fence(0, made); /* waits */
}

static void duplicate(void)
{
    MPI_Comm comm;
    one_late(0);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* waits */
    MPI_Comm_free(&comm);
}

static void duplicate_in_background(void)
{
    MPI_Comm comm;
    MPI_Request request;
    if (world_rank == 1)
        arrive(LATE);
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    if (world_rank != 1)
        arrive(0);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits */
    MPI_Comm_free(&comm);
}

static void split(void)
{
    MPI_Comm comm;
    one_late(2);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &comm); /* waits */
    MPI_Comm_free(&comm);
}

/* create_of_two does not involve rank 1. */
static void create_of_two(void)
{
    static const int two[] = {0, 2};
    MPI_Comm comm;
    MPI_Group group;
    one_late(2);
    if (world_rank == 1) {
        sleep_until(LATE);
        return;
    }
    MPI_Group_incl(all, 2, two, &group);
    arrived[repeat] = now();
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &comm); /* waits */
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

static void make_grid(void)
{
    static const int dims[] = {3}, periods[] = {1};
    MPI_Comm comm;
    one_late(1);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm); /* waits */
    MPI_Comm_free(&comm);
}

/* In neighbors, rank 1 receives from rank 0, which is late. Rank 2 receives from
 * rank 1, which is not late. Rank 0 receives from rank 2, and comes last. */
static void neighbors(void)
{
    one_late(0);
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, ring); /* waits */
    sleep_until(LATE);
}

/* In post, rank 0 accesses the window of rank 1, which calls Win_post late. Rank 0
 * waits in one of its two calls; which one depends on the MPI. */
static void post(void)
{
    static const int zero = 0, one = 1;
    MPI_Group group;
    MPI_Group_incl(all, 1, world_rank == 0 ? &one : &zero, &group);
    one_late(1);
    if (world_rank == 0) {
        MPI_Win_start(group, 0, made); MPI_Win_complete(made); /* waits */
    } else if (world_rank == 1) {
        MPI_Win_post(group, 0, made);
        MPI_Win_wait(made);
    }
    MPI_Group_free(&group);
}

/* In complete, rank 1 waits for ranks 0 and 2, of which rank 2 is the last to
 * complete. */
static void complete(void)
{
    static const int one = 1, others[] = {0, 2};
    MPI_Group group;
    MPI_Group_incl(all, world_rank == 1 ? 2 : 1, world_rank == 1 ? others : &one, &group);
    if (world_rank == 1) {
        MPI_Win_post(group, 0, made);
        arrive(0);
        MPI_Win_wait(made); /* waits */
    } else {
        MPI_Win_start(group, 0, made);
        MPI_Put(out, 4, MPI_INT, 1, 4 * world_rank, 4, MPI_INT, made);
        arrive(world_rank == 2 ? LATE : LATE / 2);
        MPI_Win_complete(made);
    }
    MPI_Group_free(&group);
}

/* Three calls in one line, because a wait is found by the line of its call: some
 * MPIs wait for the lock in MPI_Win_lock, others in a later call. */
#define LOCK_PUT_FLUSH(win)                            \
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);          \
    MPI_Put(out, 4, MPI_INT, 1, 4, 4, MPI_INT, win);   \
    MPI_Win_flush(1, win)

/* In lock, rank 2 waits for the lock on rank 1 that rank 0 holds. Rank 1 is in MPI
 * meanwhile. */
static void lock(void)
{
    if (world_rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, direct);
        MPI_Put(out, 4, MPI_INT, 1, 0, 4, MPI_INT, direct);
        MPI_Win_flush(1, direct);
        arrive(LATE);
        MPI_Win_unlock(1, direct);
    } else if (world_rank == 2) {
        sleep_until(LATE / 4);
        arrive(0);
        LOCK_PUT_FLUSH(direct); /* waits */
        MPI_Win_unlock(1, direct);
    }
}

/* In flush, rank 1 is outside MPI while rank 0 adds to its memory. The MPIs
 * tested need the target to be in MPI; some wait in the first of the two calls,
 * some in the second. */
static void flush(void)
{
    if (world_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, made);
        arrive(LATE / 4);
        MPI_Accumulate(out, 4, MPI_INT, 1, 0, 4, MPI_INT, MPI_SUM, made); MPI_Win_flush(1, made); /* waits */
        MPI_Win_unlock(1, made);
    } else if (world_rank == 1) {
        arrive(LATE);
    }
}

int main(int argc, char **argv)
{
    static const phase phases[] = {
        {"create_window", create_window, 5, 1},
        {"allocate_window", allocate_window, 3, 2},
        {"free_window", free_window, 6, 0},
        {"fence", fence, 5, 1},
        {"duplicate", duplicate, 6, 0},
        {"duplicate_in_background", duplicate_in_background, 5, 1},
        {"split", split, 3, 2},
        {"create_of_two", create_of_two, 1, 2},
        {"make_grid", make_grid, 5, 1},
        {"neighbors", neighbors, 2, 0},
        {"post", post, 1, 1},
        {"complete", complete, 2, 2},
        {"lock", lock, 4, 0},
        {"flush", flush, 1, 1},
    };
    static int *at;
    begin(argc, argv, 3);
    int to = (world_rank + 1) % 3, from = (world_rank + 2) % 3, one = 1;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &direct);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, &one, 1, &to, &one, MPI_INFO_NULL, 0, &ring);
    measure_phases(phases, sizeof phases / sizeof *phases);
    MPI_Win_free(&direct);
    MPI_Win_free(&made);
    return print_waits(phases, sizeof phases / sizeof *phases);
}

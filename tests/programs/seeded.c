/* Ranks wait for each other for a reason that the first argument names (4 ranks). Work is sleep, so that
 * few cores are enough. Each rank prints by how much it overslept, in seconds: on a busy machine
 * ranks wait for other reasons too. */
#include "check.h"

#include <string.h>
#include <time.h>

#define STEPS 10

static char large[1 << 20];
static MPI_Status statuses[4];
static double overslept; /* s */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(int ms)
{
    struct timespec t = {0, ms * 1000000L};
    double start = now();
    if (ms > 0) {
        nanosleep(&t, NULL);
        overslept += now() - start - 1e-3 * ms;
    }
}


/* Rank 2 has more work than the others. */
static void heavy(void)
{
    int in = 1, out;
    for (int i = 0; i < STEPS; i++) {
        work(world_rank == 2 ? 25 : 8);
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Rank 1 has more work, and the others see it through their neighbours only. */
static void halo(void)
{
    int left = (world_rank + world_size - 1) % world_size, right = (world_rank + 1) % world_size;
    int in[2], out[2] = {0, 0};
    for (int i = 0; i < STEPS; i++) {
        MPI_Request q[4];
        MPI_Irecv(&in[0], 1, MPI_INT, left, 0, MPI_COMM_WORLD, &q[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, right, 1, MPI_COMM_WORLD, &q[1]);
        MPI_Isend(&out[0], 1, MPI_INT, right, 0, MPI_COMM_WORLD, &q[2]);
        MPI_Isend(&out[1], 1, MPI_INT, left, 1, MPI_COMM_WORLD, &q[3]);
        MPI_Waitall(4, q, statuses);
        work(world_rank == 1 ? 25 : 8);
    }
}

/* The higher the rank, the more work. */
static void stairs(void)
{
    int in = 1, out;
    for (int i = 0; i < STEPS; i++) {
        work(5 + 7 * world_rank);
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* In each step another rank has more work; all have as much in the whole run. */
static void turns(void)
{
    for (int i = 0; i < 3 * world_size; i++) {
        work(i % world_size == world_rank ? 25 : 5);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Rank 0 sends after most of its work, and the others do theirs after they have received. All have
 * as much work. */
static void sender(void)
{
    int x = 0;
    for (int i = 0; i < STEPS; i++) {
        if (world_rank == 0) {
            work(20);
            for (int to = 1; to < world_size; to++)
                MPI_Send(&x, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
            work(5);
        } else {
            work(5);
            MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            work(20);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Rank 0 receives after most of its work; senders must wait for it. */
static void receiver(void)
{
    for (int i = 0; i < STEPS; i++) {
        if (world_rank == 0) {
            work(20);
            for (int from = 1; from < world_size; from++)
                MPI_Recv(large, sizeof large, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            work(5);
        } else {
            work(5);
            MPI_Ssend(large, sizeof large, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            work(20);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* The root of a broadcast has work of its own before it. */
static void root(void)
{
    int x = 0;
    for (int i = 0; i < STEPS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        work(world_rank == 0 ? 20 : 0);
        MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
        work(5);
    }
}

/* Each rank needs the result of the one before. */
static void chain(void)
{
    int x = 0;
    for (int i = 0; i < STEPS / 2; i++) {
        if (world_rank > 0)
            MPI_Recv(&x, 1, MPI_INT, world_rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(12);
        if (world_rank < world_size - 1)
            MPI_Send(&x, 1, MPI_INT, world_rank + 1, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Rank 0 answers the requests of the others, one after the other. */
static void server(void)
{
    int x = 0;
    for (int i = 0; i < STEPS; i++) {
        if (world_rank > 0) {
            work(5);
            MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        for (int from = 1; from < world_size; from++) {
            MPI_Recv(&x, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            work(8);
            MPI_Send(&x, 1, MPI_INT, from, 1, MPI_COMM_WORLD);
        }
    }
}

/* Rank 0 alone works between two calls, as if it wrote a log. */
static void writer(void)
{
    int in = 1, out, here;
    for (int i = 0; i < STEPS; i++) {
        if (world_rank == 0) {
            MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
            work(20);
            MPI_Iprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
        }
        work(5);
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Two phases whose loads cancel: each rank has as much work in both together. */
static void phases(void)
{
    int in = 1, out;
    for (int i = 0; i < STEPS; i++) {
        work(world_rank < world_size / 2 ? 20 : 5);
        MPI_Barrier(MPI_COMM_WORLD);
        work(world_rank < world_size / 2 ? 5 : 20);
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Two messages come late to one Waitall, that of rank 2 later. */
static void waitall(void)
{
    int in = 1, out, got[2];
    for (int i = 0; i < STEPS; i++) {
        if (world_rank == 0) {
            MPI_Request q[2];
            MPI_Irecv(&got[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &q[0]);
            MPI_Irecv(&got[1], 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &q[1]);
            MPI_Waitall(2, q, statuses);
        } else if (world_rank < 3) {
            work(world_rank == 2 ? 25 : 5);
            MPI_Send(&in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void slow_sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
    work(20);
}

/* Rank 1 is long in a call that waits for nobody. */
static void call(void)
{
    int in = 1, out = 1;
    MPI_Op op;
    MPI_Op_create(slow_sum, 1, &op);
    for (int i = 0; i < STEPS; i++) {
        if (world_rank == 1)
            MPI_Reduce_local(&in, &out, 1, MPI_INT, op);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Op_free(&op);
}

/* The others have ended when rank 0 still works. */
static void tail(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    work(world_rank == 0 ? 200 : 5);
}

static const struct {
    const char *name;
    void (*run)(void);
} faults[] = {
    {"heavy", heavy}, {"halo", halo}, {"stairs", stairs}, {"turns", turns}, {"sender", sender}, {"receiver", receiver},
    {"root", root}, {"chain", chain}, {"server", server}, {"writer", writer}, {"phases", phases}, {"waitall", waitall},
    {"call", call}, {"tail", tail},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    REQUIRE(argc == 2);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(argv[1], faults[i].name) == 0) {
            faults[i].run();
            printf("overslept %.6f\n", overslept);
            return MPI_Finalize();
        }
    REQUIRE(0);
}

/* stands_out FAULT [nearly]: a program with one fault, which `mpitrace report` finds, or
 * nearly with it (2 ranks). Time is lost by sleeping. Rank 0 prints "ok", then "share S", the share of
 * ranks × run time that the fault takes by the program's own clock (0 if it is not known),
 * "line N", the line of the call that the finding names, and "calls N", of all ranks. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void compute(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* A function of the MPI library, taken from its file: the program's own measuring must not be in the
 * record, and not be reported as missing from it. No library wraps MPI_Comm_rank. */
static void *unrecorded(const char *name)
{
    Dl_info mpi;
    REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "MPI_Comm_rank"), &mpi) != 0);
    void *file = dlopen(mpi.dli_fname, RTLD_LAZY | RTLD_NOLOAD), *function = file ? dlsym(file, name) : NULL;
    REQUIRE(function != NULL);
    return function;
}

static int nearly;
static double inside; /* seconds in the calls of the fault, or for which others wait */
static long calls;    /* of the fault */
static int line;
static char data[16 << 20];

/* Measures a call and keeps its line. */
#define FAULT(call)                        \
    do {                                   \
        double before = now();             \
        line = __LINE__;                   \
        call;                              \
        inside += now() - before, calls++; \
    } while (0)

/* Ranks take turns: each computes as long as the others, but not at the same time. */
static void in_turn(int i, int ms)
{
    if (i % world_size == world_rank)
        compute(ms);
}

static void nothing(void)
{
    compute(300);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 computes longer by 400 ms (nearly: 40 ms) than rank 0. */
static void imbalance(void)
{
    double start = now();
    compute(world_rank == 1 ? 500 : nearly ? 460 : 100);
    double took = now() - start, most, sum;
    line = __LINE__ + 1;
    MPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&took, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    inside = most - sum / world_size;
}

/* Rank 0 waits for rank 1 at one barrier, and rank 1 for rank 0 at two others. */
static void collectives(void)
{
    int late = nearly ? 40 : 200;
    compute(nearly ? 500 : 50);
    if (world_rank == 1)
        compute(late);
    FAULT(MPI_Barrier(MPI_COMM_WORLD));
    if (world_rank == 0)
        compute(late / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0)
        compute(late / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    double least; /* the time that the barrier itself takes */
    __typeof__(&MPI_Allreduce) allreduce = (__typeof__(&MPI_Allreduce))(uintptr_t)unrecorded("PMPI_Allreduce");
    allreduce(&inside, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    inside -= least;
}

/* Rank 0 sends 100 small messages (nearly: 3 between two waits), rank 1 receives one each
 * 2 ms. Then rank 0 computes as long. */
static void small_messages(void)
{
    for (int i = 0; i < 100; i++) {
        if (world_rank == 0)
            FAULT(MPI_Ssend(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        else {
            compute(2);
            MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (nearly && i % 3 == 2)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    if (world_rank == 0)
        compute(180);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void small_collectives(void)
{
    double one = 1, sum;
    for (int i = 0; i < (nearly ? 990 : 1100); i++) {
        in_turn(i, 1);
        FAULT(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    }
}

/* All ranks but 0 send to rank 0. */
static void hot_rank(void)
{
    compute(50);
    for (int i = 0; i < 8; i++)
        for (int from = 1; from < world_size; from++)
            if (world_rank == from)
                MPI_Send(data, sizeof data, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            else if (world_rank == 0)
                MPI_Recv(data, sizeof data, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void set_up(void)
{
    for (int i = 0; i < (nearly ? 99 : 120); i++) {
        MPI_Comm copy;
        in_turn(i, 3);
        FAULT(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
        MPI_Comm_free(&copy);
    }
}

/* Each rank polls while the other one computes. */
static void polling(void)
{
    for (int i = 0; i < 2 * world_size; i++) {
        int found = 0, to = 1 - world_rank;
        if (i % 2 == world_rank) {
            compute(100);
            MPI_Send(data, 8, MPI_BYTE, to, 0, MPI_COMM_WORLD);
        } else {
            while (!found && !nearly)
                FAULT(MPI_Iprobe(to, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
            MPI_Recv(data, 8, MPI_BYTE, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

/* Each rank sends to one other (nearly: to two). */
static void sparse(void)
{
    int counts[16] = {0}, from[16] = {0}, at[16] = {0};
    for (int k = 1; k <= (nearly ? 2 : 1); k++)
        counts[(world_rank + k) % world_size] = from[(world_rank - k + world_size) % world_size] = 8;
    static char in[128], out[128];
    for (int i = 0; i < 16; i++)
        at[i] = 8 * i;
    for (int i = 0; i < 50; i++) {
        in_turn(i, 5);
        FAULT(MPI_Alltoallv(out, counts, at, MPI_BYTE, in, from, at, MPI_BYTE, MPI_COMM_WORLD));
    }
}

/* Rank 1 waits for the message of rank 0, which computes first. */
static void late_sender(void)
{
    compute(100);
    if (world_rank == 0) {
        compute(nearly ? 1 : 200);
        MPI_Send(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
        FAULT(MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        compute(nearly ? 60 : 120);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 waits for the receive of rank 1, which computes first. */
static void late_receiver(void)
{
    compute(100);
    if (world_rank == 1) {
        compute(nearly ? 1 : 200);
        MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        FAULT(MPI_Ssend(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        compute(nearly ? 60 : 120);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The ranks compute in turn (nearly: together for most of the time). */
static void chain(void)
{
    for (int i = 0; i < 10; i++) {
        if (nearly)
            compute(90);
        if (world_rank == 1)
            MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double before = now();
        compute(20);
        inside += now() - before; /* the other rank waits as long */
        MPI_Send(data, 8, MPI_BYTE, 1 - world_rank, 0, MPI_COMM_WORLD);
        if (world_rank == 0)
            MPI_Recv(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Moves this process to the first core that it may use, whatever the launcher chose. */
static void share_a_core(void)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(cpu, &only);
        if (sched_setaffinity(0, sizeof only, &only) == 0)
            return;
    }
}

/* Both ranks compute on one core (nearly: one rank sleeps there). */
static void oversubscribed(void)
{
    double until = now() + 0.3;
    if (nearly)
        compute(300);
    while (now() < until)
        ;
}

static void killed(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1 && !nearly)
        raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 sends a message that nobody receives. */
static void lost(void)
{
    if (world_rank == 0 && !nearly)
        MPI_Send(data, 8, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    int ranks, nearly;
    void (*run)(void);
} faults[] = {
    {"nothing", 2, 2, nothing},
    {"imbalance", 2, 2, imbalance},
    {"collectives", 2, 2, collectives},
    {"small-messages", 2, 2, small_messages},
    {"small-collectives", 2, 2, small_collectives},
    {"hot-rank", 6, 4, hot_rank},
    {"set-up", 2, 2, set_up},
    {"polling", 2, 2, polling},
    {"sparse", 5, 5, sparse},
    {"late-sender", 2, 2, late_sender},
    {"late-receiver", 2, 2, late_receiver},
    {"chain", 2, 2, chain},
    {"oversubscribed", 2, 1, oversubscribed},
    {"killed", 2, 2, killed},
    {"lost", 2, 2, lost},
};

int main(int argc, char **argv)
{
    REQUIRE(argc >= 2);
    nearly = argc > 2 && strcmp(argv[2], "nearly") == 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (strcmp(argv[1], faults[i].name) != 0)
            continue;
        if (faults[i].run == oversubscribed)
            share_a_core();
        begin(argc, argv, nearly ? faults[i].nearly : faults[i].ranks);
        double start = now();
        faults[i].run();
        double took = now() - start, all[3], own[3] = {inside, (double)calls, line};
        __typeof__(&MPI_Reduce) reduce = (__typeof__(&MPI_Reduce))(uintptr_t)unrecorded("PMPI_Reduce");
        reduce(own, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        reduce(own + 2, all + 2, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        end();
        if (world_rank == 0)
            printf("share %.6f\nline %d\ncalls %.0f\n", all[0] / (took * world_size), (int)all[2], all[1]);
        return 0;
    }
    fprintf(stderr, "no fault is called %s\n", argv[1]);
    return 2;
}

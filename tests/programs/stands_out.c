/* stands_out FAULT...: a program with faults, which `mpitrace report` finds (2 ranks). Time
 * is lost by sleeping. Rank 0 prints "ok", and for each fault its name, the share of ranks ×
 * run time that it takes by the program's own clock (0 if it is not known), the line of the
 * call that the finding names, and the number of calls of all ranks. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
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

/* Rank 1 computes longer by 400 ms than rank 0. */
static void imbalance(void)
{
    double start = now();
    compute(world_rank == 1 ? 500 : 100);
    double took = now() - start, most, sum;
    line = __LINE__ + 1;
    MPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&took, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    inside = most - sum / world_size;
}

/* Rank 0 waits for rank 1 at one barrier, and rank 1 for rank 0 at two others. */
static void collectives(void)
{
    const int late = 200;
    compute(50);
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

/* Rank 0 sends 100 small messages, rank 1 receives one each 2 ms. Then rank 0 computes as
 * long. */
static void small_messages(void)
{
    for (int i = 0; i < 100; i++) {
        if (world_rank == 0)
            FAULT(MPI_Ssend(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        else {
            compute(2);
            MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (world_rank == 0)
        compute(180);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void small_collectives(void)
{
    double one = 1, sum;
    for (int i = 0; i < 1100; i++) {
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
    for (int i = 0; i < 120; i++) {
        MPI_Comm copy;
        in_turn(i, 3);
        FAULT(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
        MPI_Comm_free(&copy);
    }
}

/* Ranks open a file 10 times, write 1000 bytes each time, and close it. One of them comes late. */
static void files(void)
{
    char path[4096];
    REQUIRE(snprintf(path, sizeof path, "%s.data", program_invocation_name) < (int)sizeof path);
    for (int i = 0; i < 10; i++) {
        MPI_File file;
        in_turn(i, 20);
        FAULT(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
        MPI_File_write_at(file, 1000 * world_rank, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
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
            while (!found)
                FAULT(MPI_Iprobe(to, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
            MPI_Recv(data, 8, MPI_BYTE, to, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

/* Each rank sends to one other. */
static void sparse(void)
{
    int counts[16] = {0}, from[16] = {0}, at[16] = {0};
    counts[(world_rank + 1) % world_size] = from[(world_rank - 1 + world_size) % world_size] = 8;
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
        compute(200);
        MPI_Send(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
        FAULT(MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        compute(120);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 waits for the receive of rank 1, which computes first. */
static void late_receiver(void)
{
    compute(100);
    if (world_rank == 1) {
        compute(200);
        MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        FAULT(MPI_Ssend(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
        compute(120);
    }
    MPI_Barrier(MPI_COMM_WORLD);
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

/* Both ranks compute on one core. */
static void oversubscribed(void)
{
    double until = now() + 0.3;
    while (now() < until)
        ;
}

static void killed(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1)
        raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 sends a message that nobody receives. */
static void lost(void)
{
    if (world_rank == 0)
        MPI_Send(data, 8, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    int ranks;
    void (*run)(void);
} faults[] = {
    {"imbalance", 2, imbalance},
    {"collectives", 2, collectives},
    {"small-messages", 2, small_messages},
    {"small-collectives", 2, small_collectives},
    {"hot-rank", 6, hot_rank},
    {"set-up", 2, set_up},
    {"files", 2, files},
    {"polling", 2, polling},
    {"sparse", 6, sparse},
    {"late-sender", 2, late_sender},
    {"late-receiver", 2, late_receiver},
    {"oversubscribed", 2, oversubscribed},
    {"killed", 2, killed},
    {"lost", 2, lost},
};

/* find returns the index of a fault. */
static size_t find(const char *name)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(name, faults[i].name) == 0)
            return i;
    fprintf(stderr, "no fault is called %s\n", name);
    exit(2);
}

enum { MOST = 8 }; /* faults */

int main(int argc, char **argv)
{
    static double own[MOST][2], all[MOST][2], lines[MOST], last[MOST];
    REQUIRE(argc >= 2 && argc <= MOST + 1);
    if (faults[find(argv[1])].run == oversubscribed)
        share_a_core();
    begin(argc, argv, faults[find(argv[1])].ranks);
    double start = now();
    for (int i = 1; i < argc; i++) {
        inside = 0, calls = 0, line = 0;
        faults[find(argv[i])].run();
        own[i - 1][0] = inside, own[i - 1][1] = (double)calls, lines[i - 1] = line;
    }
    double took = now() - start;
    __typeof__(&MPI_Reduce) reduce = (__typeof__(&MPI_Reduce))(uintptr_t)unrecorded("PMPI_Reduce");
    reduce(own, all, 2 * MOST, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    reduce(lines, last, MOST, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    end();
    for (int i = 1; i < argc && world_rank == 0; i++)
        printf("%s %.6f %.0f %.0f\n", argv[i], all[i - 1][0] / (took * world_size), last[i - 1], all[i - 1][1]);
    return 0;
}

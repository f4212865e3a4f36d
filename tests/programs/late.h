/* Phases in which one rank is late to a call in which others wait. */
#ifndef LATE_H
#define LATE_H

#include "check.h"

#include <time.h>

#define REPEATS 2
#define LATE 200 /* ms */

/* A phase: a function that all ranks call, the set of ranks that wait in it (one
 * bit each), and the rank that they wait for. */
typedef struct {
    const char *name;
    void (*run)(void);
    unsigned waiting;
    int late;
} phase;

static double phase_start;      /* start of the phase, in seconds */
static double arrived[REPEATS]; /* when this rank reached the call, in seconds */
static int repeat;

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* sleep_until sleeps until ms milliseconds after the start of the phase. */
static inline void sleep_until(int ms)
{
    double at = phase_start + 1e-3 * ms;
    struct timespec t = {(time_t)at, (long)(1e9 * (at - (double)(time_t)at))};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* arrive waits until the rank is late by ms, and records the time. The call
 * after it is the one that is measured. */
static inline void arrive(int ms)
{
    if (ms > 0)
        sleep_until(ms);
    arrived[repeat] = now();
}

static double slowest_ping; /* the fastest round trip of the rank for which it is slowest, in s */

/* ping exchanges messages in both directions. The fastest of them allow the
 * test to compare the ranks' clocks. */
static void ping(void)
{
    static char data[8];
    for (int r = 1; r < world_size; r++) {
        double fastest = 1e9;
        for (int i = 0; i < 50; i++)
            if (world_rank == 0) {
                double start = now(), took;
                MPI_Send(data, 8, MPI_BYTE, r, 99, MPI_COMM_WORLD);
                MPI_Recv(data, 8, MPI_BYTE, r, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                took = now() - start;
                fastest = took < fastest ? took : fastest;
            } else if (world_rank == r) {
                MPI_Recv(data, 8, MPI_BYTE, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(data, 8, MPI_BYTE, 0, 99, MPI_COMM_WORLD);
            }
        if (world_rank == 0 && fastest > slowest_ping)
            slowest_ping = fastest;
    }
}

/* synchronize starts a phase on all ranks together. Waits in it are not planned;
 * they only come from other load on the machine. */
static void synchronize(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    phase_start = now();
}

/* print_wait prints who waited for whom in a phase, and for how many seconds. */
static inline void print_wait(const phase *p, double all[][REPEATS])
{
    for (int r = 0; r < world_size; r++) {
        double sum = 0;
        if (!(p->waiting >> r & 1))
            continue;
        for (int i = 0; i < REPEATS; i++)
            sum += all[p->late][i] - all[r][i];
        printf("%s %d %d %.9f\n", p->name, r, p->late, sum);
    }
}

static double all_arrived[16][8][REPEATS]; /* by phase and rank, on rank 0 */

static inline void measure_phases(const phase *phases, int n)
{
    ping();
    for (int i = 0; i < n; i++) {
        for (repeat = 0; repeat < REPEATS; repeat++) {
            synchronize();
            phases[i].run();
        }
        synchronize();
        MPI_Gather(arrived, REPEATS, MPI_DOUBLE, all_arrived[i], REPEATS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    ping();
}

static inline int print_waits(const phase *phases, int n)
{
    end();
    if (world_rank == 0)
        printf("ping 0 0 %.9f\n", slowest_ping);
    for (int i = 0; world_rank == 0 && i < n; i++)
        print_wait(&phases[i], all_arrived[i]);
    return 0;
}

static inline int run_phases(const phase *phases, int n)
{
    measure_phases(phases, n);
    return print_waits(phases, n);
}

#endif

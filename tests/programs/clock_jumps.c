/* A program with a clock_gettime of its own, as under libfaketime (2 ranks).
 * Every 20 readings its time jumps forward by an hour or back by 50 minutes.
 * The ranks exchange 5000 messages, and then sleep 100 ms. */
#define _GNU_SOURCE
#include "check.h"
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
    static _Atomic int readings;
    int rc = (int)syscall(SYS_clock_gettime, clock, t), k = atomic_fetch_add(&readings, 1) / 20;
    if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)
        t->tv_sec += k % 2 ? 3600 : k % 3 ? -3000 : 0;
    return rc;
}

int main(int argc, char **argv)
{
    int out = 1, in;
    begin(argc, argv, 2);
    for (int i = 0; i < 5000; i++)
        MPI_Sendrecv(&out, 1, MPI_INT, 1 - world_rank, 0, &in, 1, MPI_INT, 1 - world_rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    usleep(100000);
    return end();
}

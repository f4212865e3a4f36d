/* Two ranks are late, one more than the other. A rank that waits for both waits for
 * the latest (3 ranks). Prints "ok", and then one line per wait with its length. */
#include "late.h"

static int in[8], out[8];

/* half_late makes rank 1 late by LATE / 2, and rank 2 by LATE. Ranks that
 * then need not wait sleep until the end of the phase. */
static void half_late(void) { arrive(world_rank * LATE / 2); }

static void receive_both(void)
{
    int both[2][8];
    MPI_Request requests[2];
    if (world_rank > 0) {
        half_late();
        MPI_Send(out, 8, MPI_INT, 0, 0, MPI_COMM_WORLD);
        sleep_until(LATE);
        return;
    }
    for (int i = 0; i < 2; i++)
        MPI_Irecv(both[i], 8, MPI_INT, 2 - i, 0, MPI_COMM_WORLD, &requests[i]);
    arrive(0);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* waits */
}

static void barrier(void)
{
    half_late();
    MPI_Barrier(MPI_COMM_WORLD); /* waits */
}

static void sum_for_all(void)
{
    half_late();
    MPI_Allreduce(in, out, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* waits */
}

static void gather(void)
{
    int all[24];
    half_late();
    MPI_Gather(in, 8, MPI_INT, all, 8, MPI_INT, 0, MPI_COMM_WORLD); /* waits */
    sleep_until(LATE);
}

int main(int argc, char **argv)
{
    static const phase phases[] = {
        {"receive_both", receive_both, 1, 2},
        {"barrier", barrier, 3, 2},
        {"sum_for_all", sum_for_all, 3, 2},
        {"gather", gather, 1, 2},
    };
    begin(argc, argv, 3);
    return run_phases(phases, sizeof phases / sizeof *phases);
}

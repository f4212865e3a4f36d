/* Sends messages at given times (2 ranks). Each rank sends itself 60 messages,
 * of 2^k bytes in the k-th 100 ms since the end of its MPI_Init; the 20 in phase
 * "solve" are three times as long. None is close to the end of an interval, so
 * that the time to read the clock and to call MPI does not matter. */
#include "check.h"
#include <mpitrace.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void rest(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

/* middle waits for the middle of an interval, and returns the interval's number. */
static int middle(double zero)
{
    for (;;) {
        double at = 10 * (now() - zero);
        int k = (int)at;
        if (at - k > 0.2 && at - k < 0.6)
            return k;
        rest(2);
    }
}

int main(int argc, char **argv)
{
    enum { PARTS = 6, MESSAGES = 10 };
    static char in[3 << 16], out[3 << 16];
    begin(argc, argv, 2);
    double zero = now();
    for (int part = 0; part < PARTS; part++) {
        mpitrace_phase(part / 2 == 1 ? "solve" : "run");
        for (int i = 0; i < MESSAGES; i++) {
            int k = middle(zero);
            REQUIRE(k <= 16);
            int bytes = (part / 2 == 1 ? 3 : 1) << k;
            MPI_Sendrecv(out, bytes, MPI_BYTE, world_rank, 0, in, bytes, MPI_BYTE, world_rank, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        rest(60);
    }
    return end();
}

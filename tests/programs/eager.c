/* Rank 1 is late ten times to an exchange by Isend, Irecv and Waitall, and
 * ten times to the receive of a blocking send (2 ranks). argv[1] is the size
 * of the messages in bytes. Rank 0 prints how often rank 1 was late, to both: on a
 * busy machine rank 0 may be later. Then it prints how many sends lasted for half of
 * that time: some MPIs copy large messages too, and do not wait. */
#include "check.h"
#include <time.h>
#include <unistd.h>

enum { TIMES = 10, LATE = 60000 /* us */ };

/* When this rank reached the call, in seconds. exchanged: rank 0 the Waitall, rank 1
 * the Isend. passed: the Send or the Recv. */
static double exchanged[TIMES], passed[TIMES];
static int turn, long_sends;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* times_late returns, on rank 0, how often rank 1 reached a call later than rank
 * 0. */
static int times_late(const double *came)
{
    double all[2][TIMES];
    MPI_Gather(came, TIMES, MPI_DOUBLE, all, TIMES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    int n = 0;
    for (int i = 0; world_rank == 0 && i < TIMES; i++)
        n += all[1][i] > all[0][i];
    return n;
}

static void exchange(char *out, char *in, int bytes)
{
    MPI_Request requests[2];
    if (world_rank == 1)
        usleep(LATE);
    exchanged[turn] = now();
    MPI_Isend(out, bytes, MPI_BYTE, 1 - world_rank, 0, MPI_COMM_WORLD, &requests[0]); /* sends */
    MPI_Irecv(in, bytes, MPI_BYTE, 1 - world_rank, 0, MPI_COMM_WORLD, &requests[1]);
    if (world_rank == 0)
        exchanged[turn] = now();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* waits */
}

static void send_to(int other, char *data, int bytes)
{
    passed[turn] = now();
    MPI_Send(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD); /* waits */
    long_sends += now() - passed[turn] > 0.5e-6 * LATE;
}

static void receive_from(int other, char *data, int bytes)
{
    usleep(LATE);
    passed[turn] = now();
    MPI_Recv(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* receives */
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    int bytes = atoi(argv[1]);
    char *out = calloc(1, bytes), *in = calloc(1, bytes);
    REQUIRE(out && in);
    MPI_Barrier(MPI_COMM_WORLD);
    for (turn = 0; turn < TIMES; turn++)
        exchange(out, in, bytes);
    for (turn = 0; turn < TIMES; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0)
            send_to(1, out, bytes);
        else
            receive_from(0, in, bytes);
    }
    int late[2] = {times_late(exchanged), times_late(passed)};
    if (world_rank == 0)
        printf("%d %d %d\n", late[0], late[1], long_sends);
    free(out);
    free(in);
    return end();
}

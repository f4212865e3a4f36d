/* One rank is late and the other waits for it, in receives, synchronous sends and
 * collectives (2 ranks). Prints "ok", and then one line per wait with its length. */
#include "late.h"

static char data[64];
static int in[8], out[8];

static void receive(void)
{
    arrive(world_rank == 0 ? LATE : 0);
    if (world_rank == 0)
        MPI_Send(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
}

static void receive_any(void)
{
    arrive(world_rank == 1 ? LATE : 0);
    if (world_rank == 1)
        MPI_Send(data, 16, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
    else
        MPI_Recv(data, 64, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
}

static void exchange(void)
{
    arrive(world_rank == 0 ? LATE : 0);
    int peer = 1 - world_rank;
    MPI_Sendrecv(out, 8, MPI_INT, peer, 1, in, 8, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
}

static void probe(void)
{
    arrive(world_rank == 0 ? LATE : 0);
    if (world_rank == 0) {
        MPI_Send(data, 24, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    } else {
        MPI_Probe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits */
        MPI_Recv(data, 24, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void send_synchronously(void)
{
    arrive(world_rank == 1 ? LATE : 0);
    if (world_rank == 0)
        MPI_Ssend(data, 8, MPI_BYTE, 1, 3, MPI_COMM_WORLD); /* waits */
    else
        MPI_Recv(data, 8, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_in_background(void)
{
    MPI_Request request;
    if (world_rank == 1) {
        MPI_Issend(data, 8, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &request);
        arrive(0);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits */
    } else {
        arrive(LATE);
        MPI_Recv(data, 8, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void barrier(void)
{
    arrive(world_rank == 1 ? LATE : 0);
    MPI_Barrier(MPI_COMM_WORLD); /* waits */
}

static void barrier_in_background(void)
{
    MPI_Request request;
    if (world_rank == 1) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        arrive(0);
    } else {
        arrive(LATE);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits */
}

static void sum_for_all(void)
{
    arrive(world_rank == 0 ? LATE : 0);
    MPI_Allreduce(in, out, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* waits */
}

static void broadcast(void)
{
    arrive(world_rank == 0 ? LATE : 0);
    MPI_Bcast(in, 8, MPI_INT, 0, MPI_COMM_WORLD); /* waits */
}

static void sum_for_root(void)
{
    arrive(world_rank == 1 ? LATE : 0);
    MPI_Reduce(in, out, 8, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* waits */
}

int main(int argc, char **argv)
{
    static const phase phases[] = {
        {"receive", receive, 2, 0},
        {"receive_any", receive_any, 1, 1},
        {"exchange", exchange, 2, 0},
        {"probe", probe, 2, 0},
        {"send_synchronously", send_synchronously, 1, 1},
        {"send_in_background", send_in_background, 2, 0},
        {"barrier", barrier, 1, 1},
        {"barrier_in_background", barrier_in_background, 2, 0},
        {"sum_for_all", sum_for_all, 2, 0},
        {"broadcast", broadcast, 2, 0},
        {"sum_for_root", sum_for_root, 1, 1},
    };
    begin(argc, argv, 2);
    return run_phases(phases, sizeof phases / sizeof *phases);
}

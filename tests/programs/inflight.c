// Ranks 0 and 1 enter calls that do not return; the argument selects the call.
// The test reads their recordings meanwhile. Rank 1 prints when it is about to
// make its call. Other ranks wait in a barrier on a communicator of their own.
#include <mpi.h>

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 3, ROOM = 7 };
static double data[1 << 16];
static int rank, ranks;
static jmp_buf back;

static void print_ready(void)
{
    printf("ready %d\n", rank);
    fflush(stdout);
}

static void wait_forever(void)
{
    print_ready();
    for (;;)
        pause();
}

static void receive_inside(MPI_Comm *comm, int *error, ...)
{
    (void)error;
    print_ready();
    MPI_Recv(data, ROOM, MPI_DOUBLE, 1 - rank, TAG, *comm, MPI_STATUS_IGNORE);
}

static void leave(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    longjmp(back, 1);
}

static void fail(MPI_Comm_errhandler_function *handler)
{
    MPI_Errhandler e;
    MPI_Comm_create_errhandler(handler, &e);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, e);
    MPI_Send(data, 1, MPI_DOUBLE, ranks + 5, TAG, MPI_COMM_WORLD);
}

// Only rank 0 returns, and makes a call that rank 1 never makes.
static void print_ready_on_0(void)
{
    if (rank == 1)
        wait_forever();
    print_ready();
}

static void hang(const char *how)
{
    MPI_Comm dup, half;
    MPI_Request requests[3];
    MPI_Datatype pair;
    MPI_Win win;
    int peer = 1 - rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &half); // ranks in reverse order
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    if (strcmp(how, "between") == 0) {
        wait_forever();
    } else if (strcmp(how, "recv") == 0) {
        print_ready();
        MPI_Recv(data, ROOM, MPI_DOUBLE, peer, TAG, dup, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "recv-any") == 0) {
        print_ready();
        MPI_Recv(data, ROOM, pair, MPI_ANY_SOURCE, TAG, half, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "ssend") == 0) {
        print_ready();
        MPI_Ssend(data, ROOM, pair, peer, TAG, dup);
    } else if (strcmp(how, "sendrecv") == 0) {
        print_ready();
        MPI_Sendrecv(data, 1, MPI_INT, rank, TAG, data + 1, 1, MPI_INT, peer, TAG, dup, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "probe") == 0) {
        print_ready();
        MPI_Probe(peer, TAG, dup, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "barrier") == 0) {
        print_ready_on_0();
        MPI_Barrier(half);
    } else if (strcmp(how, "bcast") == 0) {
        print_ready_on_0();
        MPI_Bcast(data, 5, MPI_DOUBLE, 1, dup);
    } else if (strcmp(how, "reduce") == 0) {
        print_ready_on_0();
        MPI_Reduce(MPI_IN_PLACE, data, 5, MPI_DOUBLE, MPI_SUM, 0, dup);
    } else if (strcmp(how, "waitall") == 0) {
        for (int i = 0; i < 3; i++)
            MPI_Irecv(data + i, 1, MPI_DOUBLE, peer, TAG, dup, &requests[i]);
        print_ready();
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else if (strcmp(how, "fence") == 0) {
        MPI_Win_create(data, sizeof data, 1, MPI_INFO_NULL, dup, &win);
        print_ready_on_0();
        MPI_Win_fence(0, win);
    } else if (strcmp(how, "dup") == 0) {
        print_ready_on_0();
        MPI_Comm_dup(half, &dup);
    } else if (strcmp(how, "handler") == 0) {
        fail(receive_inside);
    } else if (strcmp(how, "longjmp") == 0) {
        if (setjmp(back) == 0)
            fail(leave);
        MPI_Send(data, 3, MPI_DOUBLE, MPI_PROC_NULL, TAG, dup);
        wait_forever();
    } else if (strcmp(how, "longjmp-sendrecv") == 0) { // its wrapper calls another function of ours
        if (setjmp(back) == 0)
            fail(leave);
        MPI_Sendrecv(data, 3, MPI_DOUBLE, MPI_PROC_NULL, TAG, data + 3, 3, MPI_DOUBLE, MPI_PROC_NULL, TAG, dup,
                     MPI_STATUS_IGNORE);
        wait_forever();
    } else if (strcmp(how, "longjmp-recv") == 0) {
        if (setjmp(back) == 0)
            fail(leave);
        print_ready();
        MPI_Recv(data, ROOM, MPI_DOUBLE, peer, TAG, dup, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    hang(argc > 1 ? argv[1] : "");
    MPI_Finalize();
    return 0;
}

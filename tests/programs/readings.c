/* Uses the tool interface of imaginary.c (2 ranks): readings CYCLES. Step 1
 * makes and frees a communicator and a window. Step 2, in phase 2, posts
 * receives of each kind while 6, 5 and, in a pause, 100 messages are queued.
 * Then it makes and frees CYCLES duplicates, and a tenth as many windows. */
#include "forms.h"
#include "imaginary.h"

static int in[4], out[4];

/* Messages to this rank itself, so that it waits for no other rank. */
static void exchange(MPI_Comm comm)
{
    MPI_Request q[3];
    MPI_Isend(out, 1, MPI_INT, 0, 1, comm, &q[0]);
    CALL(Recv, recv, in, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    MPI_Isend(out, 1, MPI_INT, 0, 2, comm, &q[1]);
    CALL(Irecv, irecv, in, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &q[2]);
    MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
    CALL(Sendrecv, sendrecv, out, 1, MPI_INT, 0, 3, in, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
    CALL(Sendrecv_replace, sendrecv_replace, out, 1, MPI_INT, 0, 4, 0, 4, comm, MPI_STATUS_IGNORE);
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 1, comm, MPI_STATUS_IGNORE); /* MPI_PROC_NULL: not a late receive */
    MPI_Recv_init(in, 1, MPI_INT, 0, 5, comm, &q[0]);
    MPI_Send_init(out, 1, MPI_INT, 0, 5, comm, &q[1]);
    MPI_Startall(2, q);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Start(&q[1]);
    MPI_Start(&q[0]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    CALL(Isendrecv, isendrecv, out, 1, MPI_INT, 0, 6, in, 1, MPI_INT, 0, 6, comm, &q[0]);
    CALL(Isendrecv_replace, isendrecv_replace, out + 1, 1, MPI_INT, 0, 7, 0, 7, comm, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
#endif
}

/* duplicate makes and frees a duplicate, always at the same call site. */
__attribute__((noinline, noclone)) static void duplicate(int step)
{
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    imaginary_step = step;
    MPI_Comm_free(&dup);
}

static void cycle(int step)
{
    MPI_Win win;
    MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    duplicate(step);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    int cycles = argc > 1 ? atoi(argv[1]) : 0;
    cycle(1);
    MPI_Pcontrol(2);
    imaginary_step = 2;
    imaginary_queued = 6;
    exchange(MPI_COMM_SELF);
    imaginary_queued = 5; /* not more than MPITRACE_WATCH_UNEXPECTED allows */
    exchange(MPI_COMM_SELF);
    MPI_Pcontrol(0);
    imaginary_queued = 100;
    exchange(MPI_COMM_SELF); /* not recorded */
    MPI_Pcontrol(1);
    imaginary_queued = 0;
    for (int i = 0; i < cycles; i++)
        i % 10 == 0 ? cycle(2) : duplicate(2);
    end();
    return imaginary_handles != 0 || imaginary_sessions != 0 || imaginary_misused != 0;
}

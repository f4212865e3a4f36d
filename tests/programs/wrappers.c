/* The program calls MPI only through wrappers in a file of their own, with
 * names of their own. Useful call sites are those that call the wrappers
 * (2 ranks). */
#include "check.h"

#define KEEP __attribute__((noinline, noclone)) static
#define NO_JUMP __asm__ volatile("")

static int data[8], more[16];

#line 1 "stubs.c"
KEEP void my_MPI_Allreduce(int n) /* its name contains that of the MPI function */
{
    MPI_Allreduce(data, more, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    NO_JUMP;
}

#line 1 "layer.c"
KEEP void share(void) /* not named after an MPI function, like all functions in this file */
{
    MPI_Allgather(data, 1, MPI_INT, more, 1, MPI_INT, MPI_COMM_WORLD);
    NO_JUMP;
}

KEEP void wait_for_all(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    NO_JUMP;
}

#line 1 "app.c"
KEEP void exchange(int peer) /* makes a single call, but belongs to the program */
{
    MPI_Sendrecv(data, 2, MPI_INT, peer, 0, more, 2, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    NO_JUMP;
}

KEEP void solve(int peer)
{
    for (int i = 0; i < 10; i++)
        my_MPI_Allreduce(1);
    my_MPI_Allreduce(4);
    exchange(peer);
    share();
    wait_for_all();
    NO_JUMP;
}

KEEP void norm(int peer)
{
    for (int i = 0; i < 5; i++)
        my_MPI_Allreduce(2);
    exchange(peer);
    share();
    share();
    NO_JUMP;
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    solve(1 - rank);
    norm(1 - rank);
    wait_for_all();
    MPI_Finalize();
    return 0;
}

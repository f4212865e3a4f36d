/* Four ranks that hang, as argv[1] says:
 *   recv  0 and 1 receive from each other, 2 and 3 are in a barrier
 *   wait  0 and 1 wait for receives from each other in a communicator with the
 *         ranks in reverse order, 2 and 3 are outside MPI
 *   abort 0 calls MPI_Abort after a second, the others are in a barrier */
#include "check.h"
#include <string.h>
#include <unistd.h>

static int message;

static void left(void)
{
    MPI_Recv(&message, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // of rank 0
    message++;
}

static void right(void)
{
    MPI_Recv(&message, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // of rank 1
    message++;
}

static void stand_by(void)
{
    MPI_Barrier(MPI_COMM_WORLD); // of the others
    message++;
}

static void post_and_wait(void)
{
    MPI_Comm comm = reversed();
    if (world_rank > 1)
        for (;;)
            pause();
    double data[2];
    MPI_Request requests[2];
    MPI_Irecv(&data[0], 1, MPI_DOUBLE, 2 + world_rank, 7, comm, &requests[0]); // posts
    MPI_Irecv(&data[1], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 8, comm, &requests[1]); // posts to anyone
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); // waits
    message++;
}

int main(int argc, char **argv)
{
    begin(argc, argv, 4);
    REQUIRE(argc == 2);
    if (!strcmp(argv[1], "wait"))
        post_and_wait();
    if (!strcmp(argv[1], "abort") && world_rank == 0) {
        sleep(1);
        MPI_Abort(MPI_COMM_WORLD, 3); // aborts
    }
    if (!strcmp(argv[1], "recv") && world_rank == 0)
        left();
    if (!strcmp(argv[1], "recv") && world_rank == 1)
        right();
    stand_by();
    return end();
}

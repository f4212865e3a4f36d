/* Rank 1 is late ten times to an exchange by Isend, Irecv and Waitall, and ten
 * times to receive from a blocking send (2 ranks; the argument is the size of the
 * messages in bytes). */
#include "check.h"
#include <unistd.h>

enum { TIMES = 10, LATE = 60000 /* us */ };

static void exchange(char *out, char *in, int bytes)
{
    MPI_Request requests[2];
    if (world_rank == 1)
        usleep(LATE);
    MPI_Isend(out, bytes, MPI_BYTE, 1 - world_rank, 0, MPI_COMM_WORLD, &requests[0]); /* sends */
    MPI_Irecv(in, bytes, MPI_BYTE, 1 - world_rank, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* waits */
}

static void send_to(int other, char *data, int bytes)
{
    MPI_Send(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD); /* waits */
}

static void receive_from(int other, char *data, int bytes)
{
    usleep(LATE);
    MPI_Recv(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* receives */
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    int bytes = atoi(argv[1]);
    char *out = calloc(1, bytes), *in = calloc(1, bytes);
    REQUIRE(out && in);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++)
        exchange(out, in, bytes);
    for (int i = 0; i < TIMES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0)
            send_to(1, out, bytes);
        else
            receive_from(0, in, bytes);
    }
    free(out);
    free(in);
    return end();
}

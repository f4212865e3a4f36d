/* Messages go one way, and are received late (2 to 4 ranks). The argument is how:
 *   producer  rank 0 sends at once to rank 1, which begins late
 *   answered  the same, and rank 1 answers once, at the end
 *   ring      each rank sends to the next, and receives late from the one before
 *   server    ranks 0 and 1 compute, and send their results to rank 2, which begins
 *             late; then all meet in an Allreduce
 * Each rank prints when it began its last call, by the machine's clock, in s. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 10, STEP = 10000, LATE = 200000 }; /* number; µs */

static int rank, size;
static double value, sum;

/* Receives from each of some ranks. */
static void receive(int first, int ranks)
{
    usleep(LATE);
    for (int i = 0; i < MESSAGES; i++)
        for (int peer = first; peer < first + ranks; peer++) {
            MPI_Recv(&value, 1, MPI_DOUBLE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            usleep(STEP);
        }
}

static void send(int to)
{
    for (int i = 0; i < MESSAGES; i++) {
        usleep(STEP / 2);
        MPI_Send(&value, 1, MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int server = strcmp(argv[1], "server") == 0, last = server ? 2 : 1;
    if (strcmp(argv[1], "ring") == 0) {
        send((rank + 1) % size);
        receive((rank + size - 1) % size, 1);
    } else if (rank == last)
        receive(0, last);
    else
        send(last);
    struct timespec came;
    clock_gettime(CLOCK_REALTIME, &came);
    if (server)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(argv[1], "answered") == 0 && rank == 0)
        MPI_Recv(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (strcmp(argv[1], "answered") == 0)
        MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    printf("%d %ld.%09ld\n", rank, (long)came.tv_sec, came.tv_nsec);
    return 0;
}

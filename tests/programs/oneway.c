/* Messages go one way, and are received late (2 or 3 ranks). The argument is how:
 *   producer  rank 0 sends at once to rank 1, which begins late
 *   answered  the same, and rank 1 answers once, at the end
 *   server    ranks 0 and 1 compute, and send their results to rank 2, which begins
 *             late; then all meet in an Allreduce
 * Each rank prints when it began its last call, by the machine's clock, in s. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 10, STEP = 10000, LATE = 200000 }; /* number; µs */

static int rank;
static double value, sum;

static void receive(int ranks)
{
    for (int i = 0; i < MESSAGES; i++)
        for (int peer = 0; peer < ranks; peer++) {
            if (i == 0 && peer == 0)
                usleep(LATE);
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

static void print_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    printf("%d %ld.%09ld\n", rank, (long)t.tv_sec, t.tv_nsec);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int server = strcmp(argv[1], "server") == 0, last = server ? 2 : 1;
    if (rank == last)
        receive(last);
    else
        send(last);
    print_time();
    if (server)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(argv[1], "answered") == 0 && rank == 0)
        MPI_Recv(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (strcmp(argv[1], "answered") == 0)
        MPI_Send(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

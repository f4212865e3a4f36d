/* Tests when calls begin and how long they take (2 ranks). Rank 1 is late for
 * two Allreduces; a callback of Comm_free begins a phase. Each rank prints, by its own
 * clock in ns, the time since MPI_Init and the time in the Allreduces. */
#include "exchange.h"
#include <time.h>

static void nap(int ms)
{
    struct timespec t = {0, ms * 1000000L};
    nanosleep(&t, NULL);
}

static int deleted(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    MPI_Pcontrol(2);
    to_self(4);
    nap(100); /* the program's own time, inside Comm_free */
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static int value;
    int key;
    MPI_Comm comm;
    begin(argc, argv, 2);
    double start = MPI_Wtime(), inside = 0;
    nap(150);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        if (world_rank == 1)
            nap(i == 0 ? 100 : 300);
        inside -= MPI_Wtime();
        MPI_Allreduce(&i, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        inside += MPI_Wtime();
    }
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, &value);
    to_self(1);
    MPI_Comm_free(&comm);
    to_self(16);
    fprintf(stderr, "moments %d %.0f %.0f\n", world_rank, (MPI_Wtime() - start) * 1e9, inside * 1e9);
    return end();
}

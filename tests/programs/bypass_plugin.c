/* The plug-in of bypass.c, which works in its constructor or when it is called. */
#include <mpi.h>
#include <stddef.h>

int step(int i);

static int (*const in_data[])(MPI_Comm) = {MPI_Barrier}; /* a relocation in data that is protected afterwards */

int step(int i)
{
    int sum, size, rank, received;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Sendrecv(&sum, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    return received;
}

#ifdef EARLY
__attribute__((constructor)) static void begin(void)
{
    int (*const volatile *barrier)(MPI_Comm) = in_data;
    MPI_Init(NULL, NULL);
    barrier[0](MPI_COMM_WORLD);
}

__attribute__((destructor)) static void end(void)
{
    MPI_Finalize();
}
#else
int start(void);
int stop(void);
int barrier(int n);

int start(void)
{
    return MPI_Init(NULL, NULL);
}

int stop(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Finalize();
    return rank;
}

int barrier(int n)
{
    int (*const volatile *function)(MPI_Comm) = in_data;
    while (n--)
        function[0](MPI_COMM_WORLD);
    return 0;
}
#endif

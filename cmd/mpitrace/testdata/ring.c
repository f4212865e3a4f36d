/* Each rank r sends r + 1 messages of argv[1] bytes to the next one. With a
 * second argument the processes end by it as exit status, without Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 16       /* ranks */
#define LONGEST 4096 /* bytes */

int main(int argc, char **argv)
{
    static char out[LONGEST], in[MOST][LONGEST];
    int rank, size, bytes = argc > 1 ? atoi(argv[1]) : 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request q[2 * MOST];
    int n = 0;
    for (int i = 0; i < before + 1; i++)
        MPI_Irecv(in[i], bytes, MPI_BYTE, before, 0, MPI_COMM_WORLD, &q[n++]);
    for (int i = 0; i < rank + 1; i++)
        MPI_Isend(out, bytes, MPI_BYTE, next, 0, MPI_COMM_WORLD, &q[n++]);
    MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d\n", rank, size);
    fflush(stdout);
    if (argc > 2)
        _exit(atoi(argv[2]));
    return MPI_Finalize();
}

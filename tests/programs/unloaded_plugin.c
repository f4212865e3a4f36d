/* A plugin of unloaded.c. NAME distinguishes the plugins: all have the same
 * code at the same addresses. */
#include <mpi.h>

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)

MPI_Request NAMED(step_in_, NAME)(int i, void *data, int bytes);
MPI_Request step(int i, void *data, int bytes);
void step_on_thread(int i);

MPI_Request NAMED(step_in_, NAME)(int i, void *data, int bytes)
{
    MPI_Request left;
    int x = 0, y = 0, one = 1, zero = 0;
    for (int k = 0; k < 10 * i; k++)
        MPI_Sendrecv(&x, 1, MPI_INT, 0, 3, &y, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (int k = 0; k < i; k++)
        MPI_Alltoallv(&x, &one, &zero, MPI_INT, &y, &one, &zero, MPI_INT, MPI_COMM_SELF);
    MPI_Irecv(data, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &left);
    return left;
}

MPI_Request step(int i, void *data, int bytes)
{
    return NAMED(step_in_, NAME)(i, data, bytes);
}

void step_on_thread(int i)
{
    for (int k = 0; k < i; k++)
        MPI_Barrier(MPI_COMM_WORLD);
}

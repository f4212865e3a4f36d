/* The C side of fortran_mixed.F90. */
#include <mpi.h>

void wait_in_c(MPI_Fint *request)
{
    MPI_Request q = MPI_Request_f2c(*request);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    *request = MPI_Request_c2f(q);
}

/* Starts a send of n ints to rank to, or a receive if to is negative. */
void start_in_c(MPI_Fint comm, int to, int n, int *buffer, MPI_Fint *request)
{
    MPI_Request q;
    if (to >= 0)
        MPI_Isend(buffer, n, MPI_INT, to, 2, MPI_Comm_f2c(comm), &q);
    else
        MPI_Irecv(buffer, n, MPI_INT, MPI_ANY_SOURCE, 2, MPI_Comm_f2c(comm), &q);
    *request = MPI_Request_c2f(q);
}

MPI_Fint duplicate_in_c(MPI_Fint comm)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_Comm_f2c(comm), &copy);
    return MPI_Comm_c2f(copy);
}

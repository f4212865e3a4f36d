/* A program whose own library has functions with the names of Fortran
 * bindings, but that are unrelated to MPI (2 ranks). With -DLIBRARY, this is
 * that library. */
double mpi_allreduce(double x, int n), mpi_send__(double x), MPI_BCAST(int n, double x, double y);
int mpi_init_(int n, double x);

#ifdef LIBRARY
double mpi_allreduce(double x, int n) { return x * n; }
double mpi_send__(double x) { return x + 0.5; }
double MPI_BCAST(int n, double x, double y) { return n + x / y; }
int mpi_init_(int n, double x) { return n + (int)x; }
#else
#include "check.h"

int main(int argc, char **argv)
{
    int one = 1, sum = 0;
    REQUIRE(mpi_init_(3, 4.5) == 7);
    begin(argc, argv, 2);
    for (int i = 0; i < 3; i++)
        REQUIRE(mpi_allreduce(2.5, 3) == 7.5 && mpi_send__(1) == 1.5 && MPI_BCAST(2, 3, 4) == 2.75);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    REQUIRE(sum == 2);
    return end();
}
#endif

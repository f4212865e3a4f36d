/* Uses the large-count form of MPI_Allreduce if the MPI has it, as libraries do
 * that work with MPI 3 and 4 (1 rank). Prints what it found. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>

int MPI_Allreduce_c(const void *out, void *in, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) __attribute__((weak));

int main(int argc, char **argv)
{
    double one = 1, sum = 0;
    void *found;
    MPI_Init(&argc, &argv);
    found = dlsym(RTLD_DEFAULT, "MPI_Allreduce_c");
    if (MPI_Allreduce_c)
        MPI_Allreduce_c(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    printf("weak %d, dlsym %d, sum %g\n", MPI_Allreduce_c != NULL, found != NULL, sum);
    return MPI_Finalize();
}

/* Makes argv[1] sends to MPI_PROC_NULL (1 rank). Their tags count from
 * 1. */
#include "check.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
    begin(argc, argv, 1);
    int n = argc > 1 ? atoi(argv[1]) : 10;
    for (int i = 1; i <= n; i++)
        MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, i, MPI_COMM_WORLD);
    return end();
}

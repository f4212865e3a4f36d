/* Sends to nobody, as many as argv[1] says, each with another tag: the first is
 * 1 (1 rank). */
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

/* A program linked with MPI that does not initialize it. Prints its user,
 * and what is preloaded. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    int initialized = 1;
    const char *preloaded = getenv("LD_PRELOAD");
    if (MPI_Initialized(&initialized) != MPI_SUCCESS || initialized)
        return 1;
    printf("not initialized, user %d, preloaded %s\n", (int)geteuid(), preloaded ? preloaded : "");
    return 0;
}

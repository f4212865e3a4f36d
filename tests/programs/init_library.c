/* A library of the program initializes and finalizes MPI (2 ranks). With
 * LIBRARY defined, this file is the library. */
#ifdef LIBRARY
#include <mpi.h>

void library_begin(int *argc, char ***argv);
void library_end(void);

void library_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Barrier(MPI_COMM_WORLD);
}

void library_end(void)
{
    MPI_Finalize();
}
#else
#include "exchange.h"

void library_begin(int *argc, char ***argv);
void library_end(void);

int main(int argc, char **argv)
{
    library_begin(&argc, &argv);
    if (rank_in(MPI_COMM_WORLD) == 0)
        puts("ok");
    to_self(5);
    library_end();
    return 0;
}
#endif

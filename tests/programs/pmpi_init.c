/* A program that initializes MPI by PMPI_Init, which tools do not see (2 ranks). */
#include "exchange.h"

int main(int argc, char **argv)
{
    PMPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    to_self(1);
    MPI_Sendrecv("ab", 2, MPI_BYTE, 1 - world_rank, 0, argv[0], 2, MPI_BYTE, 1 - world_rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}

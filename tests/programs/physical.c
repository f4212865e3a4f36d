/* With an argument, rank 0 sends rank 1 five messages of 100 bytes
 * (4 ranks). Without, all call five Bcasts and five Reduces of 8 bytes, each
 * of which takes three messages by any algorithm, and five Alltoallv of 8
 * bytes per pair, each of which takes twelve. */
#include "check.h"

enum { TIMES = 5, RANKS = 4 };

static void collectives(void)
{
    static const int counts[RANKS] = {8, 8, 8, 8}, places[RANKS] = {0, 8, 16, 24};
    char from[8 * RANKS] = {0}, to[8 * RANKS];
    double value = 1, sum = 0;
    for (int i = 0; i < TIMES; i++) {
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Alltoallv(from, counts, places, MPI_BYTE, to, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    }
    REQUIRE(world_rank != 0 || sum == RANKS);
}

int main(int argc, char **argv)
{
    begin(argc, argv, RANKS);
    if (argc == 1)
        collectives();
    char data[100];
    for (int i = 0; argc > 1 && i < TIMES; i++) {
        if (world_rank == 0)
            send_bytes(100, 1, MPI_COMM_WORLD);
        if (world_rank == 1)
            MPI_Recv(data, sizeof data, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return end();
}

/* A stencil on a grid of 2 rows and 4 columns (8 ranks): rank 4 i + j is in row i and
 * column j. In each step, each rank exchanges messages of BYTES bytes with its
 * neighbours. The last line of the output is the time of all steps, in seconds.
 *
 *   stencil [BYTES [STEPS]]
 */
#include "check.h"

enum { ROWS = 2, COLUMNS = 4, SIDES = 4 };

static void exchange(const int *neighbours, char *in, char *out, int bytes)
{
    MPI_Request q[2 * SIDES];
    for (int i = 0; i < SIDES; i++) {
        size_t at = (size_t)i * (size_t)bytes;
        MPI_Irecv(in + at, bytes, MPI_BYTE, neighbours[i], 0, MPI_COMM_WORLD, &q[i]);
        MPI_Isend(out + at, bytes, MPI_BYTE, neighbours[i], 0, MPI_COMM_WORLD, &q[SIDES + i]);
    }
    MPI_Waitall(2 * SIDES, q, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    begin(argc, argv, ROWS * COLUMNS);
    int bytes = argc > 1 ? atoi(argv[1]) : 0, steps = argc > 2 ? atoi(argv[2]) : 3;
    int row = world_rank / COLUMNS, column = world_rank % COLUMNS;
    const int neighbours[SIDES] = {
        row > 0 ? world_rank - COLUMNS : MPI_PROC_NULL,
        row < ROWS - 1 ? world_rank + COLUMNS : MPI_PROC_NULL,
        column > 0 ? world_rank - 1 : MPI_PROC_NULL,
        column < COLUMNS - 1 ? world_rank + 1 : MPI_PROC_NULL,
    };
    char *in = malloc((size_t)bytes * SIDES + 1), *out = calloc((size_t)bytes * SIDES + 1, 1);
    REQUIRE(bytes >= 0 && in && out);

    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < steps; i++)
        exchange(neighbours, in, out, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - start;

    free(in);
    free(out);
    int status = end();
    if (world_rank == 0)
        printf("%.3f\n", seconds);
    return status;
}

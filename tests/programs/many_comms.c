/* Makes argv[1] communicators, each a duplicate of the one before (1 rank).
 * Each is used once. It is freed after use, except the last argv[2], which
 * is the number that the MPI supports at a time. No two have the same
 * history of construction. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 1);
    int n = argc > 1 ? atoi(argv[1]) : 10, kept = argc > 2 ? atoi(argv[2]) : 4, in;
    MPI_Comm *made = calloc((size_t)n + 1, sizeof *made);
    made[0] = MPI_COMM_WORLD;
    for (int i = 1; i <= n; i++) {
        MPI_Comm_dup(made[i - 1], &made[i]);
        MPI_Sendrecv(&i, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, made[i], MPI_STATUS_IGNORE);
        REQUIRE(in == i);
        if (i > kept)
            MPI_Comm_free(&made[i - kept]);
    }
    for (int i = n > kept ? n - kept + 1 : 1; i <= n; i++)
        MPI_Comm_free(&made[i]);
    free(made);
    return end();
}

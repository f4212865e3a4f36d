/* Receives that complete in the order of posting, in other orders, and in greater
 * number than the library's queue has room for (2 ranks). In each round each rank
 * sends the other messages of 0 to WINDOW - 1 bytes. One receive is posted first and
 * completes last. */
#include "check.h"

enum { WINDOW = 700, ROUNDS = 7, LAST_TAG = WINDOW };

static char in[WINDOW][WINDOW], out[WINDOW];
static MPI_Request q[2 * WINDOW]; /* sends, then receives */

static void in_order(void)
{
    MPI_Waitall(WINDOW, q + WINDOW, MPI_STATUSES_IGNORE);
    MPI_Waitall(WINDOW, q, MPI_STATUSES_IGNORE);
}

static void together(void)
{
    MPI_Waitall(2 * WINDOW, q, MPI_STATUSES_IGNORE);
}

static void backward(void)
{
    MPI_Request backwards[2 * WINDOW];
    for (int i = 0; i < 2 * WINDOW; i++)
        backwards[i] = q[2 * WINDOW - 1 - i];
    MPI_Waitall(2 * WINDOW, backwards, MPI_STATUSES_IGNORE);
}

static void one_by_one(void)
{
    for (int i = 0; i < 2 * WINDOW; i++)
        MPI_Wait(&q[i], MPI_STATUS_IGNORE);
}

static void one_by_one_reversed(void)
{
    for (int i = 2 * WINDOW; i-- > 0;)
        MPI_Wait(&q[i], MPI_STATUS_IGNORE);
}

static void every_third(void)
{
    for (int first = 0; first < 3; first++) {
        MPI_Request some[WINDOW];
        int n = 0;
        for (int i = first; i < 2 * WINDOW; i += 3)
            some[n++] = q[i];
        MPI_Waitall(n, some, MPI_STATUSES_IGNORE);
    }
}

static void any(void)
{
    int index;
    for (int i = 0; i < 2 * WINDOW; i++)
        MPI_Waitany(2 * WINDOW, q, &index, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static void (*const complete[ROUNDS])(void) = {in_order,   together,    backward, one_by_one, one_by_one_reversed,
                                                   every_third, any};
    begin(argc, argv, 2);
    int other = 1 - world_rank;
    MPI_Request last;
    MPI_Irecv(NULL, 0, MPI_CHAR, other, LAST_TAG, MPI_COMM_WORLD, &last);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < WINDOW; i++)
            MPI_Irecv(in[i], WINDOW, MPI_CHAR, i % 2 ? other : MPI_ANY_SOURCE, i, i % 3 ? comm : MPI_COMM_WORLD,
                      &q[WINDOW + i]);
        for (int i = 0; i < WINDOW; i++)
            MPI_Isend(out, i, MPI_CHAR, other, i, i % 3 ? comm : MPI_COMM_WORLD, &q[i]);
        complete[round]();
        MPI_Comm_free(&comm);
    }
    MPI_Send(NULL, 0, MPI_CHAR, other, LAST_TAG, MPI_COMM_WORLD);
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    return end();
}

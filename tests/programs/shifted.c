/* Messages of different sizes with the same tag, some of which are
 * truncated. Those after them must still be matched correctly (2 ranks). */
#include "check.h"

enum { ROUNDS = 12, TAG = 17 };

static int data[ROUNDS + 1];

static int truncated(int i)
{
    return i % 4 == 2;
}

/* receive receives four messages each by Recv, by Recv from any source, and by
 * Irecv. */
static void receive(int i)
{
    int room = truncated(i) ? 1 : ROUNDS, any = i / 4 == 1, token = 0;
    MPI_Request q;
    if (i / 4 == 2) {
        MPI_Irecv(data, room, MPI_INT, 1, TAG, MPI_COMM_WORLD, &q);
        MPI_Send(&token, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Send(&token, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(data, room, MPI_INT, any ? MPI_ANY_SOURCE : 1, any ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < ROUNDS; i++) {
        if (world_rank == 0) {
            receive(i);
        } else {
            int token;
            MPI_Recv(&token, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, i + 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return end();
}

/* One message between calls that read from a window: Get, Rget, Fetch_and_op,
 * Get_accumulate and Compare_and_swap (2 ranks). Reads are not messages. */
#include "check.h"

int main(int argc, char **argv)
{
    int *shared, one = 1, old = 0;
    MPI_Win win;
    MPI_Request request;
    begin(argc, argv, 2);
    int other = 1 - world_rank; /* Open MPI 4.1 crashes in Compare_and_swap to itself, or of other types than int */
    MPI_Win_allocate(sizeof *shared, sizeof *shared, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win);
    *shared = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 5; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_INT, other, 0, MPI_SUM, win);
        MPI_Win_flush(other, win);
        MPI_Get_accumulate(&one, 1, MPI_INT, &old, 1, MPI_INT, other, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush(other, win);
        MPI_Compare_and_swap(&one, &one, &old, MPI_INT, other, 0, win);
        MPI_Win_flush(other, win);
        MPI_Get(&old, 1, MPI_INT, other, 0, 1, MPI_INT, win);
        MPI_Win_flush(other, win);
        MPI_Rget(&old, 1, MPI_INT, other, 0, 1, MPI_INT, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(win);
    if (world_rank == 0)
        send_bytes(8, 1, MPI_COMM_WORLD);
    else
        recv_bytes(8, 0, MPI_COMM_WORLD);
    MPI_Win_free(&win);
    return end();
}

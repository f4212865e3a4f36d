/* One-sided calls on a window of a communicator in reverse order. Each rank
 * accesses the next one there, which has the world rank before its own. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 3);
    MPI_Comm comm = reversed();
    int *memory, mine[8] = {1, 2, 3, 4, 5, 6, 7, 8}, got[8], one = 1, compare = 77;
    int next = (rank_in(comm) + 1) % world_size;
    MPI_Win win;
    MPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    for (int i = 0; i < 16; i++)
        memory[i] = 0;
    MPI_Win_fence(0, win);
    MPI_Put(mine, 5, MPI_INT, next, 0, 5, MPI_INT, win);
    MPI_Put(mine, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Get(got, 3, MPI_INT, next, 0, 3, MPI_INT, win);
    MPI_Win_fence(0, win);
    REQUIRE(got[2] == 3);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Accumulate(mine, 7, MPI_INT, next, 0, 7, MPI_INT, MPI_SUM, win);
    MPI_Get_accumulate(mine, 2, MPI_INT, got, 2, MPI_INT, next, 0, 2, MPI_INT, MPI_SUM, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, got, 4, MPI_INT, next, 0, 4, MPI_INT, MPI_NO_OP, win);
    MPI_Fetch_and_op(&one, got, MPI_INT, next, 15, MPI_SUM, win);
    MPI_Compare_and_swap(&one, &compare, got, MPI_INT, next, 14, win);
    MPI_Request requests[2];
    MPI_Rput(mine, 6, MPI_INT, next, 8, 6, MPI_INT, win, &requests[0]);
    MPI_Rget(got, 8, MPI_INT, next, 0, 8, MPI_INT, win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush(next, win);
    MPI_Win_unlock(next, win);
    MPI_Barrier(comm);
    MPI_Win_free(&win);
    MPI_Comm_free(&comm);
    return end();
}

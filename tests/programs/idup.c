/* Two MPI_Comm_idup on two parents, which rank 0 and rank 1 start in
 * opposite orders (2 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm parent[2], child[2];
    MPI_Request requests[2];
    begin(argc, argv, 2);
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &parent[i]);
    for (int k = 0; k < 2; k++) {
        int i = world_rank == 0 ? k : 1 - k;
        MPI_Comm_idup(parent[i], &child[i], &requests[k]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_set_name(child[0], "child of the first");
    MPI_Comm_set_name(child[1], "child of the second");
    for (int i = 0; i < 2; i++)
        if (world_rank == 0)
            send_bytes(100 + i, 1, child[i]);
        else
            recv_bytes(100 + i, 0, child[i]);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&child[i]);
        MPI_Comm_free(&parent[i]);
    }
    return end();
}

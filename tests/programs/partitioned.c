/* Partitioned messages of 4 partitions of 25 ints, sent three times, the
 * last partition first. They are started alone and with others. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    int data[100] = {0};
    MPI_Request request;
    if (world_rank == 0)
        MPI_Psend_init(data, 4, 25, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(data, 4, 25, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
        if (i < 2)
            MPI_Start(&request);
        else
            MPI_Startall(1, &request);
        if (world_rank == 0) {
            data[99] = i + 1;
            MPI_Pready(3, request);
            MPI_Pready_range(0, 1, request);
            MPI_Pready_list(1, (int[]){2}, request);
        }
        if (world_rank == 1)
            for (int flag = 0; !flag;)
                MPI_Parrived(request, 3, &flag);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        REQUIRE(data[99] == i + 1);
    }
    MPI_Request_free(&request);
    return end();
}

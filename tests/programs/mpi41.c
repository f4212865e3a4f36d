/* Calls that MPI 4.1 added (2 ranks). 0 sends 10, 20, 30 and 40 bytes to 1,
 * which tests the receives by Request_get_status_any, _some, _all and _all
 * again; it then frees all except the last, for which it waits. Ibsend sends
 * 50 bytes from a buffer of the communicator. */
#include "check.h"

int main(int argc, char **argv)
{
    static char data[4][64], room[50 + MPI_BSEND_OVERHEAD];
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int flag = 0, index, count = 0, indices[4], size;
    void *address;
    begin(argc, argv, 2);
    MPI_Comm_attach_buffer(MPI_COMM_WORLD, room, sizeof room);
    if (world_rank == 0) {
        for (int i = 0; i < 4; i++)
            MPI_Send(data[i], 10 * (i + 1), MPI_BYTE, 1, i, MPI_COMM_WORLD);
        MPI_Ibsend(data[0], 50, MPI_BYTE, 1, 9, MPI_COMM_WORLD, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        MPI_Comm_flush_buffer(MPI_COMM_WORLD);
    } else {
        for (int i = 0; i < 4; i++)
            MPI_Irecv(data[i], 64, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        while (!flag)
            MPI_Request_get_status_any(1, requests, &index, &flag, MPI_STATUS_IGNORE);
        while (!count)
            MPI_Request_get_status_some(1, requests + 1, &count, indices, statuses);
        for (flag = 0; !flag;)
            MPI_Request_get_status_all(2, requests + 2, &flag, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 3; i++)
            MPI_Request_free(&requests[i]);
        MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
        MPI_Recv(data[0], 64, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Comm_detach_buffer(MPI_COMM_WORLD, &address, &size);
    REQUIRE(address == room && size == sizeof room);
    return end();
}

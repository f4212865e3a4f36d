/* Sends in each way, with messages of many size classes (2 ranks). Rank 0
 * sends to rank 1, and to MPI_PROC_NULL. */
#include "check.h"

static char data[256];
static char attached[65536];

static void send_blocking(int to)
{
    MPI_Send(data, 0, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    MPI_Send(data, 1, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    MPI_Bsend(data, 2, MPI_BYTE, to, 0, MPI_COMM_WORLD);
    MPI_Ssend(data, 4, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

static void send_nonblocking(int to)
{
    MPI_Request requests[3];
    MPI_Isend(data, 16, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibsend(data, 32, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Issend(data, 64, MPI_BYTE, to, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* send_ready sends to receives that are posted already. */
static void send_ready(int to)
{
    MPI_Request request;
    MPI_Rsend(data, 8, MPI_BYTE, to, 1, MPI_COMM_WORLD);
    MPI_Irsend(data, 128, MPI_BYTE, to, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 2, 4, 16, 32, 64};
    static char in[2][128];
    MPI_Request ready[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    void *buffer;
    int length;
    begin(argc, argv, 2);
    MPI_Buffer_attach(attached, sizeof attached);
    if (world_rank == 1) {
        MPI_Irecv(in[0], 128, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &ready[0]);
        MPI_Irecv(in[1], 128, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &ready[1]);
        for (int i = 0; i < 7; i++)
            recv_bytes(sizes[i], 0, MPI_COMM_WORLD);
        MPI_Send(data, 3, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    } else {
        send_blocking(1);
        send_nonblocking(1);
        recv_bytes(3, 1, MPI_COMM_WORLD); /* rank 1 has posted its receives */
        send_ready(1);
        send_blocking(MPI_PROC_NULL);
        send_nonblocking(MPI_PROC_NULL);
        send_ready(MPI_PROC_NULL);
    }
    MPI_Waitall(2, ready, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&buffer, &length);
    return end();
}

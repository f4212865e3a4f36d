/* Persistent sends and receives: five rounds of four messages, two rounds
 * with Start and three with Startall (2 ranks). */
#include "check.h"

static char attached[65536];

static void init_sends(char *data, MPI_Request q[])
{
    MPI_Datatype five;
    MPI_Send_init(data, 10, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &q[0]);
    MPI_Type_contiguous(5, MPI_INT, &five);
    MPI_Type_commit(&five);
    MPI_Ssend_init(data, 1, five, 1, 1, MPI_COMM_WORLD, &q[1]);
    MPI_Type_free(&five); /* the request remains valid */
    MPI_Bsend_init(data, 30, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &q[2]);
    MPI_Rsend_init(data, 40, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &q[3]);
    MPI_Send_init(data, 50, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &q[4]);
}

static void init_receives(char *data, MPI_Request q[])
{
    for (int i = 0; i < 4; i++)
        MPI_Recv_init(data + 100 * i, 100, MPI_BYTE, i == 1 ? MPI_ANY_SOURCE : 0, i, MPI_COMM_WORLD, &q[i]);
    MPI_Recv_init(data, 100, MPI_BYTE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &q[4]);
}

static void start(int all, MPI_Request q[])
{
    if (all)
        MPI_Startall(5, q);
    else
        for (int i = 0; i < 5; i++)
            MPI_Start(&q[i]);
}

int main(int argc, char **argv)
{
    static char data[400];
    MPI_Request q[5];
    void *buffer;
    int length;
    begin(argc, argv, 2);
    MPI_Buffer_attach(attached, sizeof attached);
    if (world_rank == 0)
        init_sends(data, q);
    else
        init_receives(data, q);
    for (int round = 0; round < 5; round++) {
        if (world_rank == 1)
            start(round >= 2, q);
        MPI_Barrier(MPI_COMM_WORLD); /* the ready send needs its receive to be posted */
        if (world_rank == 0)
            start(round >= 2, q);
        MPI_Waitall(5, q, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 5; i++)
        MPI_Request_free(&q[i]);
    MPI_Buffer_detach(&buffer, &length);
    return end();
}

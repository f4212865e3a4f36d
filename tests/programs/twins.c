/* Two communicators with the same members (2 ranks). */
#include "check.h"

static void send_on(MPI_Comm comm, int bytes, int times)
{
    for (int i = 0; i < times; i++)
        if (world_rank == 0)
            send_bytes(bytes, 1, comm);
        else
            recv_bytes(bytes, 0, comm);
}

int main(int argc, char **argv)
{
    MPI_Comm first, second;
    begin(argc, argv, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Comm_set_name(first, "first");
    MPI_Comm_set_name(second, "second");
    send_on(first, 11, 1);
    send_on(second, 22, 2);
    MPI_Barrier(first);
    MPI_Comm_free(&second);
    MPI_Comm_free(&first);
    return end();
}

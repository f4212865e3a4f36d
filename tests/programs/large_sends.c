/* The large-count point-to-point functions that large.c omits (2 ranks). Each moves a
 * different power of two from rank 0 to rank 1, the last two in both directions. */
#include "check.h"

static char in[4096], out[4096], attached[65536];

static void sender(void)
{
    MPI_Request q[6];
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Bsend_c(out, 1, MPI_BYTE, 1, 0, world);
    MPI_Rsend_c(out, 2, MPI_BYTE, 1, 1, world);
    MPI_Ibsend_c(out, 4, MPI_BYTE, 1, 2, world, &q[0]);
    MPI_Issend_c(out, 8, MPI_BYTE, 1, 3, world, &q[1]);
    MPI_Irsend_c(out, 16, MPI_BYTE, 1, 4, world, &q[2]);
    MPI_Bsend_init_c(out, 32, MPI_BYTE, 1, 5, world, &q[3]);
    MPI_Ssend_init_c(out, 64, MPI_BYTE, 1, 6, world, &q[4]);
    MPI_Rsend_init_c(out, 128, MPI_BYTE, 1, 7, world, &q[5]);
    MPI_Startall(3, &q[3]);
    MPI_Waitall(6, q, MPI_STATUSES_IGNORE);
    for (int i = 3; i < 6; i++)
        MPI_Request_free(&q[i]);
    MPI_Send_c(out, 256, MPI_BYTE, 1, 8, world);
}

static void both_ways(void)
{
    MPI_Request q[2];
    MPI_Comm world = MPI_COMM_WORLD;
    int other = 1 - world_rank;
    MPI_Sendrecv_replace_c(in, 512, MPI_BYTE, other, 9, other, 9, world, MPI_STATUS_IGNORE);
    MPI_Isendrecv_c(out, 1024, MPI_BYTE, other, 10, in, 1024, MPI_BYTE, other, 10, world, &q[0]);
    MPI_Isendrecv_replace_c(in + 1024, 2048, MPI_BYTE, other, 11, other, 11, world, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Request q[8];
    MPI_Message message;
    void *buffer;
    MPI_Count size;
    begin(argc, argv, 2);
    MPI_Buffer_attach_c(attached, sizeof attached);
    if (world_rank == 1)
        for (int i = 0; i < 8; i++)
            MPI_Irecv_c(in + 256 * i, 256, MPI_BYTE, 0, i, MPI_COMM_WORLD, &q[i]);
    MPI_Barrier(MPI_COMM_WORLD); /* ready sends need their receives to be posted */
    if (world_rank == 0) {
        sender();
    } else {
        MPI_Waitall(8, q, MPI_STATUSES_IGNORE);
        MPI_Mprobe(0, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv_c(in, 256, MPI_BYTE, &message, q);
        MPI_Wait(q, MPI_STATUS_IGNORE);
    }
    both_ways();
    MPI_Buffer_detach_c(&buffer, &size);
    return end();
}

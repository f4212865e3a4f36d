/* Messages of 0 bytes, of 2^k and of 2^k - 1 bytes for k up to 20, and one of
 * 3 GiB, by a datatype that contains the same MiB 3072 times (2 ranks). */
#include "check.h"

enum { MIB = 1 << 20 };

static void move(int bytes, MPI_Datatype type, void *data)
{
    if (world_rank == 0)
        MPI_Send(data, bytes, type, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(data, bytes, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static char data[MIB];
    MPI_Datatype type;
    begin(argc, argv, 2);
    move(0, MPI_BYTE, data);
    for (int k = 0; k <= 20; k++) {
        move(1 << k, MPI_BYTE, data);
        if (k > 0)
            move((1 << k) - 1, MPI_BYTE, data);
    }
    MPI_Type_create_hvector(3072, MIB, 0, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    move(1, type, data);
    MPI_Type_free(&type);
    return end();
}

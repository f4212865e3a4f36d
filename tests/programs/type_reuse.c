/* Frees derived types and makes them again with another size, so that MPI uses one
 * handle for many. One type has an extent that differs from its size (2 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    static int data[64];
    MPI_Datatype type, before = MPI_DATATYPE_NULL;
    int reused = 0;
    begin(argc, argv, 2);
    for (int k = 1; k <= 16; k++) {
        MPI_Type_contiguous(k, MPI_INT, &type);
        MPI_Type_commit(&type);
        reused += type == before;
        before = type;
        if (world_rank == 0)
            MPI_Send(data, 1, type, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(data, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
    }
    REQUIRE(reused > 0);
    MPI_Type_vector(5, 1, 10, MPI_INT, &type);
    MPI_Type_commit(&type);
    if (world_rank == 0)
        MPI_Send(data, 1, type, 1, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(data, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    return end();
}

/* Persistent collectives under the MPIX_ names of Open MPI 4.1, from before the
 * Standard had them: an MPIX_Allreduce_init of 5 ints that is started twice,
 * and an MPIX_Bcast_init of 7 bytes from rank 1 that is started once. */
#include "check.h"

#include <mpi-ext.h>

int main(int argc, char **argv)
{
    int in[5] = {0}, out[5];
    char data[7];
    MPI_Request requests[2];
    begin(argc, argv, 3);
    MPIX_Allreduce_init(in, out, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPIX_Bcast_init(data, 7, MPI_BYTE, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int k = 0; k < 2; k++) {
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Start(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    return end();
}

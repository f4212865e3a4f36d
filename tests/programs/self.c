/* MPI_COMM_SELF: messages from each rank to itself, and collectives that
 * move no data (2 ranks). */
#include "check.h"

int main(int argc, char **argv)
{
    char in[64], out[64] = {0};
    int one = 1, sum;
    MPI_Request request;
    begin(argc, argv, 2);
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(in, 64, MPI_BYTE, 0, i, MPI_COMM_SELF, &request);
        MPI_Send(out, 64, MPI_BYTE, 0, i, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(out, 32, MPI_BYTE, 0, 9, in, 64, MPI_BYTE, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Bcast(out, 64, MPI_BYTE, 0, MPI_COMM_SELF);
    REQUIRE(sum == 1);
    return end();
}

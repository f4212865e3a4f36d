/* Probes and matched receives from any source, on a communicator in reverse
 * order (2 ranks). World rank 0 sends 15, 25, 35 and 45 bytes. */
#include "check.h"

static void receive(MPI_Comm comm)
{
    static char data[64];
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag = 0, count;
    MPI_Mprobe(MPI_ANY_SOURCE, 0, comm, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(data, 64, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Improbe(MPI_ANY_SOURCE, 1, comm, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(data, 64, MPI_BYTE, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Probe(MPI_ANY_SOURCE, 2, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    REQUIRE(count == 35 && status.MPI_SOURCE == 1);
    MPI_Recv(data, count, MPI_BYTE, status.MPI_SOURCE, 2, comm, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        MPI_Iprobe(MPI_ANY_SOURCE, 3, comm, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(data, 64, MPI_BYTE, MPI_ANY_SOURCE, 3, comm, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 0, comm, &message, MPI_STATUS_IGNORE);
    REQUIRE(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(data, 64, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    static char data[64];
    begin(argc, argv, 2);
    MPI_Comm comm = reversed();
    if (world_rank == 0)
        for (int tag = 0; tag < 4; tag++)
            MPI_Send(data, 15 + 10 * tag, MPI_BYTE, 0, tag, comm);
    else
        receive(comm);
    MPI_Comm_free(&comm);
    return end();
}

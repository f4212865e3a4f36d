/* Sets names that contain commands for terminals and spreadsheets (2 ranks). */
#include "check.h"
#include <mpitrace.h>

int main(int argc, char **argv)
{
    static const char name[] = "=cmd()\x1b]0;x\a\t\nforged\xc2\x9b";
    MPI_Comm comm;
    begin(argc, argv, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, name);
    mpitrace_phase(name);
    if (world_rank == 0)
        send_bytes(8, 1, comm);
    else
        recv_bytes(8, 0, comm);
    MPI_Comm_free(&comm);
    end();
    return 0;
}

/* Sets names that contain markup for browsers (2 ranks). */
#include "check.h"
#include <mpitrace.h>

int main(int argc, char **argv)
{
    MPI_Comm comm;
    begin(argc, argv, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "<script>alert(3)</script>");
    mpitrace_phase("</script><b onclick=alert(4)>");
    if (world_rank == 0)
        send_bytes(8, 1, comm);
    else
        recv_bytes(8, 0, comm);
    MPI_Comm_free(&comm);
    end();
    return 0;
}

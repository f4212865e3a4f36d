/* Three sessions, one after the other (2 ranks). In the k-th, after 50 ms,
 * rank 0 sends 100 k bytes to rank 1. Rank 1 leaves a receive open in the
 * first session. */
#include "check.h"

#include <unistd.h>

int main(void)
{
    static char data[400];
    int rank = 0;
    for (int k = 1; k <= 3; k++) {
        MPI_Session session;
        MPI_Group world;
        MPI_Comm comm;
        if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS)
            return 3;
        MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
        MPI_Comm_create_from_group(world, "org.mpitrace.again", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Group_free(&world);
        rank = rank_in(comm);
        if (rank == 0)
            MPI_Send(data, 100 * k, MPI_BYTE, 1, 0, comm);
        else
            MPI_Recv(data, sizeof data, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
        MPI_Request left;
        static char never[8];
        if (k == 1 && rank == 1)
            MPI_Irecv(never, sizeof never, MPI_BYTE, 0, 9, comm, &left);
        MPI_Comm_free(&comm);
        usleep(50000);
        if (MPI_Session_finalize(&session) != MPI_SUCCESS)
            return 3;
    }
    if (rank == 0)
        puts("ok");
    return 0;
}

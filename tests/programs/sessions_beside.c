/* A session that is opened after MPI_Init and closed after MPI_Finalize (2 ranks).
 * Messages from 0 to 1: 5 bytes in MPI_COMM_WORLD and 6 in a communicator of the
 * session; from 1 to 0: 7 bytes in a communicator that is made after MPI_Finalize. */
#include "check.h"

static MPI_Comm of(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    if (MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) != MPI_SUCCESS)
        exit(3);
    MPI_Group_free(&group);
    return comm;
}

int main(int argc, char **argv)
{
    MPI_Session session;
    begin(argc, argv, 2);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Comm during = of(session, "org.mpitrace.during");
    if (world_rank == 0) {
        send_bytes(5, 1, MPI_COMM_WORLD);
        send_bytes(6, 1, during);
    } else {
        recv_bytes(5, 0, MPI_COMM_WORLD);
        recv_bytes(6, 0, during);
    }
    MPI_Comm_free(&during);
    MPI_Finalize();
    MPI_Comm after = of(session, "org.mpitrace.after");
    if (world_rank == 1)
        send_bytes(7, 0, after);
    else
        recv_bytes(7, 1, after);
    MPI_Comm_free(&after);
    if (world_rank == 0)
        puts("ok");
    return MPI_Session_finalize(&session);
}

/* A program that never calls MPI_Init (4 ranks). Each communicator is made
 * from a group and has a name and a message: 10 and 20 bytes from world rank
 * 0 to 3 on two with the same members and tag, 30 from 3 to 0 on one in
 * reverse order, and 40 from 1 to 2 between two groups. */
#include "check.h"

static MPI_Comm from(MPI_Group group, const char *tag)
{
    MPI_Comm comm;
    if (MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm) != MPI_SUCCESS)
        exit(3);
    return comm;
}

static void pass(MPI_Comm comm, const char *name, int from, int to, int n)
{
    char data[64];
    MPI_Comm_set_name(comm, name);
    if (rank_in(comm) == from)
        MPI_Send(data, n, MPI_BYTE, to, 0, comm);
    else if (rank_in(comm) == to)
        MPI_Recv(data, sizeof data, MPI_BYTE, from, 0, comm, MPI_STATUS_IGNORE);
}

int main(void)
{
    MPI_Session session;
    MPI_Group world, reversed, halves[2];
    MPI_Comm first, second, back, between;
    int order[] = {3, 2, 1, 0}, rank, size;
    char data[64];
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS ||
        MPI_Group_from_session_pset(session, "mpi://WORLD", &world) != MPI_SUCCESS)
        return 3;
    MPI_Group_rank(world, &rank);
    MPI_Group_size(world, &size);
    if (size != 4)
        return 3;
    first = from(world, "org.mpitrace.same");
    second = from(world, "org.mpitrace.same");
    MPI_Group_incl(world, 4, order, &reversed);
    back = from(reversed, "org.mpitrace.reversed");
    MPI_Group_incl(world, 2, (int[]){0, 1}, &halves[0]);
    MPI_Group_incl(world, 2, (int[]){2, 3}, &halves[1]);
    MPI_Intercomm_create_from_groups(halves[rank / 2], 0, halves[1 - rank / 2], 0, "org.mpitrace.between",
                                     MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &between);
    pass(first, "first", 0, 3, 10);
    pass(second, "second", 0, 3, 20);
    pass(back, "reversed", 0, 3, 30);
    MPI_Comm_set_name(between, "between");
    if (rank == 1)
        MPI_Send(data, 40, MPI_BYTE, 0, 0, between);
    if (rank == 2)
        MPI_Recv(data, 40, MPI_BYTE, 1, 0, between, MPI_STATUS_IGNORE);
    MPI_Barrier(first);
    MPI_Group_free(&world);
    MPI_Group_free(&reversed);
    MPI_Group_free(&halves[0]);
    MPI_Group_free(&halves[1]);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    MPI_Comm_free(&back);
    MPI_Comm_free(&between);
    if (rank == 0)
        puts("ok");
    return MPI_Session_finalize(&session);
}

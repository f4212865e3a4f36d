/* Fills the queue of unexpected messages (2 ranks): flood K M HOW. Rank 0 sends K
 * messages over MPI_COMM_WORLD and M over a duplicate of it. All are in the queue of
 * rank 1 when phase 2 begins. In phase 2 rank 1 receives those of MPI_COMM_WORLD,
 * one after the other, by the call HOW; in phase 3 the others.
 *
 * With TOOL, rank 1 also reads the length of the queue through MPI_T itself. */
#include "check.h"
#include <string.h>

enum { MOST = 1000 };

static int k, m, in[MOST];
static MPI_Comm dup;

/* await_all waits until all messages have arrived. Messages of one sender arrive
 * in order, so it waits for the last one of each communicator. */
static void await_all(void)
{
    MPI_Probe(0, k - 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Probe(0, m - 1, dup, MPI_STATUS_IGNORE);
}

static void receive(const char *how, int tag, MPI_Comm comm)
{
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Status status;
    int out[1];
    if (strcmp(how, "recv") == 0)
        MPI_Recv(in, 1, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE); /* late recv */
    else if (strcmp(how, "any") == 0)
        MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm, MPI_STATUS_IGNORE); /* late any */
    else if (strcmp(how, "irecv") == 0)
        MPI_Irecv(in, 1, MPI_INT, 0, tag, comm, &q); /* late irecv */
    else if (strcmp(how, "sendrecv") == 0)
        MPI_Sendrecv(in, 1, MPI_INT, MPI_PROC_NULL, 0, out, 1, MPI_INT, 0, tag, comm, &status); /* late sendrecv */
    else if (strcmp(how, "sendrecv_replace") == 0)
        MPI_Sendrecv_replace(in, 1, MPI_INT, MPI_PROC_NULL, 0, 0, tag, comm, &status); /* late sendrecv_replace */
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
    else if (strcmp(how, "isendrecv") == 0)
        MPI_Isendrecv(in, 1, MPI_INT, MPI_PROC_NULL, 0, in + 1, 1, MPI_INT, 0, tag, comm, &q); /* late isendrecv */
    else if (strcmp(how, "isendrecv_replace") == 0)
        MPI_Isendrecv_replace(in, 1, MPI_INT, MPI_PROC_NULL, 0, 0, tag, comm, &q); /* late isendrecv_replace */
#endif
    else if (strcmp(how, "start") == 0) {
        MPI_Recv_init(in, 1, MPI_INT, 0, tag, comm, &q);
        MPI_Start(&q); /* late start */
    } else
        REQUIRE(!"a way to receive");
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (strcmp(how, "start") == 0)
        MPI_Request_free(&q);
}

static void receive_all(const char *how, int n, MPI_Comm comm)
{
    MPI_Request q[MOST];
    if (strcmp(how, "startall") != 0) {
        for (int i = 0; i < n; i++)
            receive(how, i, comm);
        return;
    }
    for (int i = 0; i < n; i++)
        MPI_Recv_init(in + i, 1, MPI_INT, 0, i, comm, &q[i]);
    MPI_Startall(n, q); /* late startall */
    MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        MPI_Request_free(&q[i]);
}

#ifdef TOOL
static unsigned queued(MPI_Comm comm)
{
    int n, number = -1, count = 0;
    unsigned lengths[2] = {0, 0};
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_pvar_get_num(&n);
    for (int i = 0; i < n; i++) {
        char name[256] = "";
        int length = sizeof name, described = 0, verbosity, class, bound, read_only, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum items;
        int rc = MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &items, NULL, &described, &bound,
                                     &read_only, &continuous, &atomic);
        if (rc == MPI_SUCCESS && strcmp(name, "pml_ob1_unexpected_msgq_length") == 0)
            number = i;
    }
    REQUIRE(number >= 0);
    REQUIRE(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_handle_alloc(session, number, &comm, &handle, &count) == MPI_SUCCESS && count == 2);
    REQUIRE(MPI_T_pvar_read(session, handle, lengths) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    return lengths[0] + lengths[1];
}
#define QUEUED(n, comm) REQUIRE(world_rank == 0 || queued(comm) == (unsigned)(n))
#else
#define QUEUED(n, comm) (void)0
#endif

int main(int argc, char **argv)
{
#ifdef TOOL
    int provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
#endif
    begin(argc, argv, 2);
    const char *how = argc > 3 ? argv[3] : "recv";
    k = argc > 3 ? atoi(argv[1]) : 20, m = argc > 3 ? atoi(argv[2]) : 7;
    REQUIRE(k > 0 && k <= MOST && m > 0 && m <= MOST);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Barrier(MPI_COMM_WORLD); /* rank 1 has made the duplicate, too */
    if (world_rank == 0) {
        for (int i = 0; i < k; i++)
            MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        for (int i = 0; i < m; i++)
            MPI_Send(&i, 1, MPI_INT, 1, i, dup);
    } else {
        await_all();
    }
    QUEUED(k, MPI_COMM_WORLD);
    MPI_Pcontrol(2);
    if (world_rank == 1)
        receive_all(how, k, MPI_COMM_WORLD);
    QUEUED(0, MPI_COMM_WORLD);
    QUEUED(m, dup);
    MPI_Pcontrol(3);
    if (world_rank == 1)
        receive_all(how, m, dup);
    if (world_rank == 1) /* rank 0 sends nothing else before this */
        MPI_Send(in, 1, MPI_INT, 0, k, MPI_COMM_WORLD);
    else
        MPI_Recv(in, 1, MPI_INT, 1, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_free(&dup);
#ifdef TOOL
    MPI_T_finalize();
#endif
    return end();
}

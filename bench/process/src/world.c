// An MPI for one process in a world of any size, to measure how much memory a rank
// needs in jobs that are too large for any available machine. Messages that are sent
// are dropped, receives complete as they were posted, and collectives return at once.
// Communicators have as many members as in a real job, in the order that their
// constructor defines.
//
// It has the functions that peers.c calls and those that the library calls, with the
// handles of MPICH's mpi.h (integers). WORLD_SIZE is the number of ranks; the process
// is the rank in the middle.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOTH(type, name, parameters)                                                                  \
    type MPI_##name parameters __attribute__((weak, alias("PMPI_" #name)));                           \
    type PMPI_##name parameters

// How ranks of a communicator are mapped to world ranks.
enum order { IDENTITY, STRIDED, SHUFFLED };

// A communicator and its group have the same index in `comms`. Handles of derived
// communicators and of groups are FIRST plus the index.
enum { FIRST = 0x1000, LIMIT = 1 << 16 };
static struct { enum order order; int size, rank, used; } comms[LIMIT];
static int highest = 2;

// Receives in progress, by request. Sends are not stored.
enum { REQUESTS = 1 << 21, SEND = 1 };
static struct { int source, tag, bytes; } *requests;
static int last_request = SEND;
static int initialized, finalized;

static int place(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? 0 : comm == MPI_COMM_SELF ? 1 : comm - FIRST;
}

static int world_rank(int c, int rank)
{
    long n = comms[0].size;
    switch (comms[c].order) {
    case STRIDED:
        return c == 1 ? comms[0].rank : 2 * rank;
    case SHUFFLED: // 7919 is prime, so each rank occurs once unless the size is a multiple of it
        return (int)((long)rank * 7919 % n);
    default:
        return rank;
    }
}

static MPI_Comm make(enum order order, int size)
{
    int c = 2;
    while (comms[c].used)
        c++;
    highest = c > highest ? c : highest;
    comms[c].order = order;
    comms[c].size = size;
    comms[c].rank = size / 2;
    comms[c].used = 1;
    return FIRST + c;
}

BOTH(int, Init, (int *argc, char ***argv))
{
    (void)argc, (void)argv;
    const char *size = getenv("WORLD_SIZE");
    comms[0].size = size ? atoi(size) : 1;
    comms[0].rank = comms[0].size / 2;
    comms[1].size = 1;
    comms[1].order = STRIDED;
    comms[0].used = comms[1].used = 1;
    requests = calloc(REQUESTS, sizeof *requests);
    initialized = 1;
    return requests ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

BOTH(int, Finalize, (void)) { finalized = 1; return MPI_SUCCESS; }
BOTH(int, Initialized, (int *flag)) { *flag = initialized; return MPI_SUCCESS; }
BOTH(int, Finalized, (int *flag)) { *flag = finalized; return MPI_SUCCESS; }
BOTH(int, Query_thread, (int *level)) { *level = MPI_THREAD_SINGLE; return MPI_SUCCESS; }

BOTH(int, Get_library_version, (char *version, int *length))
{
    *length = sprintf(version, "a world of any size");
    return MPI_SUCCESS;
}

BOTH(int, Comm_rank, (MPI_Comm comm, int *rank)) { *rank = comms[place(comm)].rank; return MPI_SUCCESS; }
BOTH(int, Comm_size, (MPI_Comm comm, int *size)) { *size = comms[place(comm)].size; return MPI_SUCCESS; }
BOTH(int, Comm_test_inter, (MPI_Comm comm, int *flag)) { (void)comm; *flag = 0; return MPI_SUCCESS; }
BOTH(int, Comm_get_parent, (MPI_Comm *parent)) { *parent = MPI_COMM_NULL; return MPI_SUCCESS; }
BOTH(int, Topo_test, (MPI_Comm comm, int *status)) { (void)comm; *status = MPI_UNDEFINED; return MPI_SUCCESS; }

BOTH(int, Comm_dup, (MPI_Comm comm, MPI_Comm *made))
{
    *made = make(comms[place(comm)].order, comms[place(comm)].size);
    return MPI_SUCCESS;
}

// Color 0 selects every other rank. Color 1 selects all ranks, in shuffled order.
BOTH(int, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made))
{
    (void)key;
    int n = comms[place(comm)].size;
    *made = color == 0 ? make(STRIDED, n / 2) : make(SHUFFLED, n);
    return MPI_SUCCESS;
}

BOTH(int, Comm_free, (MPI_Comm *comm))
{
    comms[place(*comm)].used = 0;
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

BOTH(int, Comm_group, (MPI_Comm comm, MPI_Group *group)) { *group = FIRST + place(comm); return MPI_SUCCESS; }
BOTH(int, Group_size, (MPI_Group group, int *size)) { *size = comms[group - FIRST].size; return MPI_SUCCESS; }
BOTH(int, Group_rank, (MPI_Group group, int *rank)) { *rank = comms[group - FIRST].rank; return MPI_SUCCESS; }
BOTH(int, Group_free, (MPI_Group *group)) { *group = MPI_GROUP_NULL; return MPI_SUCCESS; }

BOTH(int, Group_translate_ranks, (MPI_Group from, int n, const int ranks[], MPI_Group to, int out[]))
{
    (void)to; // the world's group
    for (int i = 0; i < n; i++)
        out[i] = world_rank(from - FIRST, ranks[i]);
    return MPI_SUCCESS;
}

BOTH(int, Type_size_x, (MPI_Datatype type, MPI_Count *size))
{
    *size = type == MPI_DOUBLE ? 8 : 1;
    return MPI_SUCCESS;
}

BOTH(int, Type_get_envelope, (MPI_Datatype type, int *integers, int *addresses, int *types, int *combiner))
{
    (void)type;
    *integers = *addresses = *types = 0;
    *combiner = MPI_COMBINER_NAMED;
    return MPI_SUCCESS;
}

BOTH(int, Status_set_elements_x, (MPI_Status *status, MPI_Datatype type, MPI_Count count))
{
    (void)type;
    status->count_lo = (int)count;
    status->count_hi_and_cancelled = (int)((count >> 32) << 1);
    return MPI_SUCCESS;
}

BOTH(int, Get_elements_x, (const MPI_Status *status, MPI_Datatype type, MPI_Count *count))
{
    (void)type;
    *count = (MPI_Count)(unsigned)status->count_lo | (MPI_Count)(status->count_hi_and_cancelled >> 1) << 32;
    return MPI_SUCCESS;
}

BOTH(int, Isend, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request))
{
    (void)data, (void)n, (void)type, (void)to, (void)tag, (void)comm;
    *request = SEND;
    return MPI_SUCCESS;
}

BOTH(int, Irecv, (void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request))
{
    (void)data, (void)comm;
    do
        last_request = last_request + 1 < REQUESTS ? last_request + 1 : SEND + 1;
    while (requests[last_request].bytes);
    requests[last_request].source = from;
    requests[last_request].tag = tag;
    requests[last_request].bytes = n * (type == MPI_DOUBLE ? 8 : 1);
    *request = last_request;
    return MPI_SUCCESS;
}

BOTH(int, Waitall, (int n, MPI_Request all[], MPI_Status statuses[]))
{
    for (int i = 0; i < n; i++) {
        if (statuses != MPI_STATUSES_IGNORE && all[i] != SEND && all[i] != MPI_REQUEST_NULL) {
            statuses[i].MPI_SOURCE = requests[all[i]].source;
            statuses[i].MPI_TAG = requests[all[i]].tag;
            PMPI_Status_set_elements_x(&statuses[i], MPI_BYTE, requests[all[i]].bytes);
        }
        if (all[i] != SEND && all[i] != MPI_REQUEST_NULL)
            requests[all[i]].bytes = 0;
        all[i] = MPI_REQUEST_NULL;
    }
    return MPI_SUCCESS;
}

BOTH(int, Send, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm))
{
    (void)data, (void)n, (void)type, (void)to, (void)tag, (void)comm;
    return MPI_SUCCESS;
}

BOTH(int, Barrier, (MPI_Comm comm)) { (void)comm; return MPI_SUCCESS; }

BOTH(int, Bcast, (void *data, int n, MPI_Datatype type, int root, MPI_Comm comm))
{
    (void)data, (void)n, (void)type, (void)root, (void)comm;
    return MPI_SUCCESS;
}

BOTH(int, Allreduce, (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm))
{
    (void)op, (void)comm;
    memcpy(out, in, (size_t)n * (type == MPI_DOUBLE ? 8 : 1));
    return MPI_SUCCESS;
}

// The practical limit: the least that a profiler which times calls and tells peers and sizes apart
// can do. Each call reads the clock twice and adds a count, bytes and ticks to one line of a flat
// array. It knows no communicators, callsites, requests or threads, and never prints the array.

#include <mpi.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum {
    PEERS = 64,   // a power of two: a peer is taken modulo it, negative ones (PROC_NULL) too
    CLASSES = 64, // class 0 is the empty message, class c holds bytes in [2^(c-1), 2^c)
    NO_PEER = -1, // collectives, and calls that complete others
};

struct line { // one cache line
    uint64_t count, bytes, ticks, unused[5];
};
static _Alignas(64) struct line lines[PEERS][CLASSES];

static inline uint64_t now(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
#error "no clock is known for this processor"
#endif
}

// The bytes of `count` elements. MPI is asked only when the type is not that of the call before.
static inline uint64_t bytes_of(int count, MPI_Datatype type)
{
    static MPI_Datatype known;
    static int size = -1;
    if (size < 0 || type != known) {
        PMPI_Type_size(type, &size);
        known = type;
    }
    return (uint64_t)count * (uint64_t)size;
}

static inline void add(int peer, uint64_t bytes, uint64_t ticks)
{
    int class = bytes ? 64 - __builtin_clzll(bytes) : 0;
    struct line *line = &lines[peer & (PEERS - 1)][class & (CLASSES - 1)];
    line->count++;
    line->bytes += bytes;
    line->ticks += ticks;
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    uint64_t start = now();
    int rc = PMPI_Send(buf, count, type, dest, tag, comm);
    uint64_t ticks = now() - start;
    add(dest, bytes_of(count, type), ticks);
    return rc;
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    uint64_t start = now();
    int rc = PMPI_Isend(buf, count, type, dest, tag, comm, request);
    uint64_t ticks = now() - start;
    add(dest, bytes_of(count, type), ticks);
    return rc;
}

// Counts the receive where it is posted, with the buffer's size: to learn what came, the request
// would have to be kept until it completes, which is more than the least.
int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    uint64_t start = now();
    int rc = PMPI_Irecv(buf, count, type, source, tag, comm, request);
    uint64_t ticks = now() - start;
    add(source, bytes_of(count, type), ticks);
    return rc;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    uint64_t start = now();
    int rc = PMPI_Waitall(count, requests, statuses);
    uint64_t ticks = now() - start;
    add(NO_PEER, 0, ticks);
    return rc;
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status *status)
{
    uint64_t start = now();
    int rc = PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                           source, recvtag, comm, status);
    uint64_t ticks = now() - start;
    add(dest, bytes_of(sendcount, sendtype), ticks);
    add(source, bytes_of(recvcount, recvtype), 0);
    return rc;
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    uint64_t start = now();
    int rc = PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm);
    uint64_t ticks = now() - start;
    add(NO_PEER, bytes_of(count, type), ticks);
    return rc;
}

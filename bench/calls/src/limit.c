// The practical limit: the least work for a profiler that times calls and distinguishes peers and
// sizes. Each call reads the clock twice and adds a count, bytes and ticks to one line of a flat
// array; each thread has its own array. It knows no communicators, call sites or requests, and
// never prints the array.

#include "mpi_fint.h"

#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum {
    PEERS = 64,   // a power of two: a peer is taken modulo PEERS, negative ones (MPI_PROC_NULL) too
    CLASSES = 64, // class 0 is the empty message, class c holds bytes in [2^(c-1), 2^c)
    NO_PEER = -1, // for collectives, and calls that complete others
};

struct line { // one cache line
    uint64_t count, bytes, ticks, unused[5];
};
static _Thread_local _Alignas(64) struct line lines[PEERS][CLASSES];

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

// The last answers of the MPI. They are reused if a call has the same datatype or communicator as
// the one before.
static _Thread_local struct {
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Fint type_f, comm_f;
    int size, ranks, size_f, ranks_f; // 0 while not known
} known;

// Out of line, so that the wrappers stay short.
#define ASK static __attribute__((noinline, cold)) void

ASK ask_size(MPI_Datatype type)
{
    known.type = type;
    PMPI_Type_size(type, &known.size);
}

ASK ask_ranks(MPI_Comm comm)
{
    known.comm = comm;
    PMPI_Comm_size(comm, &known.ranks);
}

// Returns the bytes of `count` elements.
static inline uint64_t bytes_of(int count, MPI_Datatype type)
{
    if (type != known.type || !known.size)
        ask_size(type);
    return (uint64_t)count * (uint64_t)known.size;
}

static inline int sum(const int *counts, MPI_Comm comm)
{
    if (comm != known.comm || !known.ranks)
        ask_ranks(comm);
    int total = 0;
    for (int i = 0; i < known.ranks; i++)
        total += counts[i];
    return total;
}

#ifdef OPEN_MPI // only Open MPI needs these for Fortran, as its Fortran handles differ from those in C
ASK ask_size_f(MPI_Fint type)
{
    known.type_f = type;
    PMPI_Type_size(PMPI_Type_f2c(type), &known.size_f);
}

ASK ask_ranks_f(MPI_Fint comm)
{
    known.comm_f = comm;
    PMPI_Comm_size(PMPI_Comm_f2c(comm), &known.ranks_f);
}

static inline uint64_t bytes_of_f(int count, MPI_Fint type)
{
    if (type != known.type_f || !known.size_f)
        ask_size_f(type);
    return (uint64_t)count * (uint64_t)known.size_f;
}

static inline int sum_f(const MPI_Fint *counts, MPI_Fint comm)
{
    if (comm != known.comm_f || !known.ranks_f)
        ask_ranks_f(comm);
    int total = 0;
    for (int i = 0; i < known.ranks_f; i++)
        total += counts[i];
    return total;
}
#endif

static inline void add(int peer, uint64_t bytes, uint64_t ticks)
{
    int class = bytes ? 64 - __builtin_clzll(bytes) : 0;
    struct line *line = &lines[peer & (PEERS - 1)][class & (CLASSES - 1)];
    line->count++;
    line->bytes += bytes;
    line->ticks += ticks;
}

#define CALL(name, parameters, arguments, book) \
    int MPI_##name parameters                   \
    {                                           \
        uint64_t start = now();                 \
        int rc = PMPI_##name arguments;         \
        uint64_t ticks = now() - start;         \
        book;                                   \
        return rc;                              \
    }

#define TIMED(name, mpis, parameters, arguments, book) \
    void __attribute__((weak)) mpis parameters;        \
    void name parameters;                              \
    void name parameters                               \
    {                                                  \
        uint64_t start = now();                        \
        mpis arguments;                                \
        uint64_t ticks = now() - start;                \
        book;                                          \
    }

#ifdef OPEN_MPI
#define FORTRAN(name, parameters, arguments, book)                      \
    TIMED(mpi_##name##_, pmpi_##name##_, parameters, arguments, book)   \
    TIMED(mpi_##name##_f08_, pmpi_##name##_f08_, parameters, arguments, book)
#else
#define FORTRAN(name, parameters, arguments, book) \
    TIMED(mpi_##name##_f08_, pmpir_##name##_f08_, parameters, arguments, book)
#endif

#include "calls.h"

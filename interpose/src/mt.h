// What the whole library shares: the state of the process and of a thread.
//
// The library records and does nothing else. It never calls a collective,
// starts a thread, prints to stdout, or changes errno, a return code or an
// argument. On trouble it records less, says so once, and carries on.
#ifndef MT_H
#define MT_H

#include "calls_gen.h"
#include "layout_gen.h"
#include "mpi_include.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "row keys are compared as little-endian words"
#endif

#define MT_EXPORT __attribute__((visibility("default")))
#define MT_SLOW __attribute__((noinline, cold))
#define MT_INLINE static inline __attribute__((always_inline))
#define mt_likely(x) __builtin_expect(!!(x), 1)
#define mt_unlikely(x) __builtin_expect(!!(x), 0)

// A handle as a key: Open MPI's are pointers, MPICH's are integers.
#define MT_KEY(handle) ((uint64_t)(uintptr_t)(handle))

typedef enum mt_state {
    MT_COLD,     // nothing has happened: the library is inert
    MT_STARTING, // inside MPI_Init
    MT_ON,
    MT_OFF, // finalized, forked, or in trouble: calls are only passed on
} mt_state;

extern _Atomic mt_state mt_state_now;
extern _Atomic uint32_t mt_slice;  // slice of calls that begin now, or MT_PAUSED
extern _Atomic uint64_t mt_slice_until; // ticks at which an interval ends: UINT64_MAX without --interval
extern bool mt_multiple;           // MPI_THREAD_MULTIPLE: shared tables need locks
extern mt_l_header *mt_header;     // of the recording; NULL while there is none
extern int mt_world_rank, mt_world_size;

#define MT_PAUSED 0xffffffffu

// Addresses from start to start + size.
typedef struct mt_watch {
    _Atomic uint64_t start, size;
} mt_watch;

// Call sites that take more than their address to tell: see site.c.
extern mt_watch mt_watched;
void mt_watch_set(mt_watch *w, uint64_t start, uint64_t size);

// A row as words: the writer is one thread, readers see whole words.
typedef struct mt_row {
    _Atomic uint64_t site, place, what, count, bytes, time, min, max;
} mt_row;
_Static_assert(sizeof(mt_row) == sizeof(mt_l_row), "a row is a cache line");

typedef struct mt_comm mt_comm;

typedef struct mt_type_size {
    uint64_t key, size;
    uint64_t epoch; // of derived types; 0 for predefined ones, which stay
} mt_type_size;

typedef struct mt_comm_hit {
    uint64_t key, epoch;
    mt_comm *comm;
} mt_comm_hit;

enum { MT_TYPE_CACHE = 16, MT_COMM_CACHE = 8, MT_WIN_CACHE = 4, MT_VECTOR_CHAINS = 64 };

// All that one thread writes. A thread that ends leaves it to the next one.
typedef struct mt_thread {
    mt_row *rows;
    uint64_t mask;  // capacity - 1
    uint64_t inner; // ticks spent in MPI calls inside the call that is open
    uint32_t shift; // 64 - log2(capacity)
    uint32_t index;
    mt_comm_hit comms[MT_COMM_CACHE];
    mt_type_size types[MT_TYPE_CACHE];
    mt_comm_hit wins[MT_WIN_CACHE];
    uint64_t used, limit;
    bool full; // growing failed, it is not tried again
    mt_l_thread *record;
    struct mt_vectors *vectors[MT_VECTOR_CHAINS];
    struct mt_thread *next;    // in the pool of those that ended
    struct mt_thread *sibling; // in the list of all
    mt_row spare;           // takes what no row can be found for
} __attribute__((aligned(128))) mt_thread;

extern _Thread_local mt_thread *mt_self __attribute__((tls_model("initial-exec")));

// A call that is open.
typedef struct mt_span {
    mt_thread *thread; // NULL: not recorded
    uint64_t start, outer;
    uint64_t site;
    uint32_t slice;
    uint16_t call;
} mt_span;

MT_INLINE uint64_t mt_load(_Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

MT_INLINE void mt_store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

// Adds where this thread is the only writer: no locked instruction.
MT_INLINE void mt_add(_Atomic uint64_t *word, uint64_t n)
{
    mt_store(word, mt_load(word) + n);
}

MT_INLINE bool mt_lies_in(const mt_watch *w, uint64_t address)
{
    return address - atomic_load_explicit(&w->start, memory_order_relaxed) <
           atomic_load_explicit(&w->size, memory_order_relaxed);
}

MT_INLINE bool mt_on(void)
{
    return atomic_load_explicit(&mt_state_now, memory_order_relaxed) == MT_ON;
}

// say.c: one line on stderr, at most a few in the life of a process.
void mt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Adds to a counter of the header from any thread.
void mt_lost(uint64_t *counter, uint64_t n);

#endif

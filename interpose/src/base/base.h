// Layer 1, base: what the whole library shares. The state of the process and of a
// thread (below), the clock, locks, messages, settings, and the functions of the MPI,
// which are looked up when they are needed. It calls no other layer.
//
// The library records and does nothing else. It never calls a collective,
// starts a thread, prints to stdout, or changes errno, a return code or an
// argument. On trouble it records less, says so once, and carries on.
#ifndef MT_BASE_H
#define MT_BASE_H

#include "base/calls_gen.h"
#include "base/layout_gen.h"
#include "base/mpi_include.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "row keys are compared as little-endian words"
#endif

#define MT_EXPORT __attribute__((visibility("default")))
#define MT_OURS __attribute__((visibility("hidden"))) // on data: no detour by way of the dynamic linker's table
#define MT_SLOW __attribute__((noinline, cold)) // seldom
#define MT_APART __attribute__((noinline))      // often, but not inlined
#define MT_INLINE static inline __attribute__((always_inline))
#define mt_likely(x) __builtin_expect(!!(x), 1)
#define mt_unlikely(x) __builtin_expect(!!(x), 0)

// A handle as a key: Open MPI's are pointers, MPICH's are integers (whose sign
// need not be extended).
#define MT_KEY(handle)                                                                                                 \
    (sizeof(handle) == sizeof(uint32_t) ? (uint64_t)(uint32_t)(uintptr_t)(handle) : (uint64_t)(uintptr_t)(handle))

typedef enum mt_state {
    MT_COLD,     // nothing has happened: the library is inert
    MT_STARTING, // inside MPI_Init
    MT_ON,
    MT_OFF, // finalized, forked, or in trouble: calls are only passed on
} mt_state;

extern MT_OURS _Atomic mt_state mt_state_now;
extern MT_OURS bool mt_multiple;           // MPI_THREAD_MULTIPLE: shared tables need locks
extern MT_OURS bool mt_serialized;         // MPI_THREAD_SERIALIZED: threads use MPI in turns
extern MT_OURS bool mt_receives_unfollowed; // --receives off
extern MT_OURS mt_l_header *mt_header;     // of the recording; NULL while there is none
extern MT_OURS int mt_world_rank, mt_world_size;

// Why a call is more than two readings of the clock and a row. Without any of
// these it is nothing else, and looks no further.
enum {
    MT_ENTER_CLOSED = 1,    // nothing is recorded (now)
    MT_ENTER_PAUSED = 2,    // by the program
    MT_ENTER_CLOCK = 4,     // the clock is no instruction of the CPU
    MT_ENTER_INTERVAL = 8,  // the run is cut by time
    MT_ENTER_SITES = 16,    // some call sites take more than their address to tell: see enter.c
    MT_ENTER_UNTIMED = 32,  // --timing off
    MT_ENTER_SAMPLED = 64,  // --timing sampled
    MT_ENTER_PVARS = 128,   // performance variables are read by time
    MT_ENTER_MOST = 256,    // somebody watches how many requests are in flight
    MT_ENTER_TRACE = 512,   // calls have events
};

// What each call reads, in a cache line that is seldom written.
typedef struct mt_now {
    _Atomic uint32_t flags;
    _Atomic uint32_t slice; // of calls that begin now
} __attribute__((aligned(128))) mt_now;

extern MT_OURS mt_now mt_at_call;

MT_INLINE uint32_t mt_enter_flags(void)
{
    return atomic_load_explicit(&mt_at_call.flags, memory_order_relaxed);
}

// Whether a call is quick: mt_enter_flags() == 0. Compilers do not fold atomic loads
// into comparisons.
MT_INLINE bool mt_enter_is_quick(void)
{
#if defined(__x86_64__)
    bool open;
    __asm__ volatile("cmpl $0, %1" : "=@cce"(open) : "m"(mt_at_call.flags));
    return open;
#else
    return mt_enter_flags() == 0;
#endif
}

void mt_enter_set(uint32_t reason, bool holds);

#define MT_PAUSED 0xffffffffu // the slice of what began in a pause

// Addresses from start to start + size.
typedef struct mt_code_range {
    _Atomic uint64_t start, size;
} mt_code_range;

// A row. One thread writes it, and may read it as it likes; others read words.
typedef struct mt_row {
    uint64_t site, place, what, count, bytes, time, min, max;
} mt_row;
_Static_assert(sizeof(mt_row) == sizeof(mt_l_row), "a row is a cache line");

// A thread's mt_l_open, which starts as a row does. The thread writes it, and
// reads in it, when a call returns, what row that call is to be booked in.
typedef struct mt_current_call {
    uint64_t site;
    union {
        uint64_t place;
        struct {
            uint32_t comm;
            int32_t peer;
        };
    };
    union {
        uint64_t what;
        struct {
            uint32_t slice;
            uint16_t call; // 0 between calls
            uint8_t direction, size_class;
        };
    };
    uint64_t start, bytes, spent, last;
    int32_t source;
    uint32_t count;
} mt_current_call;
_Static_assert(sizeof(mt_current_call) == sizeof(mt_l_open), "an open call is a cache line");
_Static_assert(offsetof(mt_current_call, call) == offsetof(mt_l_open, call), "it is in a call while this is not 0");
_Static_assert(offsetof(mt_current_call, last) == offsetof(mt_l_open, last) &&
                   offsetof(mt_current_call, count) == offsetof(mt_l_open, count), "as readers have it");

// A call that another is inside of, or that was left without returning (longjmp
// out of an error handler).
typedef struct mt_outer {
    uint64_t frame; // 0: none
    mt_current_call line;
} mt_outer;

enum { MT_OUTER_CALLS = 8 };

typedef struct mt_comm mt_comm;

typedef struct mt_type_size {
    _Atomic uint64_t key;
    uint64_t size;
} mt_type_size;

typedef struct mt_comm_hit {
    _Atomic uint64_t key;
    mt_comm *comm;
} mt_comm_hit;

typedef struct mt_win_hit {
    _Atomic uint64_t key;
    mt_comm *comm;   // whose group is the window's
    uint32_t number; // of the window in this process, 0 if its making was not seen
} mt_win_hit;

enum { MT_TYPE_CACHE = 16, MT_COMM_CACHE = 8, MT_WIN_CACHE = 4, MT_VECTOR_CHAINS = 64, MT_PACES = 256 };

// How often the calls of a site are timed, where they are timed by samples: one
// in about so many.
typedef struct mt_pace {
    uint32_t left;        // calls to come that are not timed
    uint16_t drawn;       // what `left` was drawn for
    uint16_t every, next; // what the rows met ask for: now, and from the next turn on
    uint16_t turn;        // timed calls in this turn
} mt_pace;

// All that one thread writes. A thread that ends leaves it to the next one.
// Handles are remembered until they are freed: their keys are cleared then, by
// whichever thread frees them, before the MPI can give them out again.
typedef struct mt_thread {
    // One cache line has what nearly each call needs.
    mt_row *rows;
    uint64_t mask;   // (capacity - 1) * sizeof(mt_row)
    mt_current_call *open;   // in the thread's record: the call that it is in
    uint64_t frame;  // of that call: where its wrapper's stack is
    _Atomic uint64_t comm_key;  // the last communicator, unless it is an intercommunicator
    uint32_t comm_index;
    int32_t comm_rank;
    _Atomic uint64_t type_key;  // the last datatype
    uint64_t type_size;

    mt_comm_hit comms[MT_COMM_CACHE];
    mt_type_size types[MT_TYPE_CACHE];
    mt_win_hit wins[MT_WIN_CACHE];
    mt_l_chunk *chunk; // where events go
    uint32_t rows_at;  // where in the recording `rows` are, in rows
    uint32_t posts;    // the request that the call at hand starts: its event is to have it
    bool apart;        // rows have more than themselves: samples or events
    uint64_t used, limit;
    uint32_t index;
    uint32_t random;
    bool full; // growing failed, it is not tried again
    mt_l_thread *record;
    mt_pace *paces; // MT_PACES of them, by a hash of the site; NULL unless calls are timed by samples
    struct mt_vectors *vectors[MT_VECTOR_CHAINS];
    mt_outer outer[MT_OUTER_CALLS];
    uint32_t outers; // of these are taken
    uint64_t moved;  // rows whose call site was moved (modules.h) since the table was made
    struct mt_outgrown *outgrown; // tables that events name rows of
    struct mt_thread *next;    // in the pool of those that ended
    struct mt_thread *sibling; // in the list of all
    mt_row spare;           // takes what no row can be found for
} __attribute__((aligned(128))) mt_thread;
_Static_assert(offsetof(mt_thread, comms) == 64, "the first line of a thread");

extern MT_OURS _Thread_local mt_thread *mt_self __attribute__((tls_model("initial-exec")));

// The same for quick calls: a thread that has no table is one that is always in a
// call, and so never quick. That saves them a comparison.
extern MT_OURS _Thread_local mt_thread *mt_quick_self __attribute__((tls_model("initial-exec")));
void mt_thread_is(mt_thread *t);

// A call that is open.
typedef struct mt_span {
    mt_thread *thread; // NULL: not recorded
    uint64_t start;    // ticks, less those that the thread had spent in calls
    uint64_t ticks;    // how long it took, once it is closed
    uint64_t site;
    uint64_t frame;
    uint32_t slice;
    uint16_t call;
    bool timed;
} mt_span;

// Who calls a wrapper: from where, and where the wrapper's stack is.
typedef struct mt_caller {
    uint64_t site, frame;
} mt_caller;

MT_INLINE uint64_t mt_load(_Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

MT_INLINE void mt_store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

// Whether a word that other threads may write holds this value.
MT_INLINE bool mt_holds(_Atomic uint64_t *word, uint64_t value)
{
#if defined(__x86_64__)
    bool same;
    __asm__ volatile("cmpq %2, %1" : "=@cce"(same) : "m"(*word), "r"(value));
    return same;
#else
    return mt_load(word) == value;
#endif
}

// For words of which this thread is the only writer.
MT_INLINE uint64_t mt_read(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

MT_INLINE void mt_write(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

// Adds, with no locked instruction. A reader sees whole words, and what one
// thread adds in one order it sees in no other.
MT_INLINE void mt_add(uint64_t *word, uint64_t n)
{
    if (__builtin_constant_p(n) && n == 0)
        return;
#if defined(__x86_64__)
    // As one instruction; of the atomic load and store compilers make three.
    __asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(n) : "cc");
#else
    __atomic_store_n(word, *word + n, __ATOMIC_RELEASE);
#endif
}

MT_INLINE bool mt_lies_in(const mt_code_range *w, uint64_t address)
{
#if defined(__x86_64__)
    bool lies; // no register for what compilers do not fold
    __asm__ volatile("subq %2, %1\n\tcmpq %3, %1"
                     : "=@ccb"(lies), "+&r"(address)
                     : "m"(w->start), "m"(w->size));
    return lies;
#else
    return address - atomic_load_explicit(&w->start, memory_order_relaxed) <
           atomic_load_explicit(&w->size, memory_order_relaxed);
#endif
}

MT_INLINE bool mt_on(void)
{
    return atomic_load_explicit(&mt_state_now, memory_order_relaxed) == MT_ON;
}

// log.c: one line on stderr, at most a few in the life of a process.
void mt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Adds to a counter of the header from any thread.
void mt_lost(uint64_t *counter, uint64_t n);

#endif

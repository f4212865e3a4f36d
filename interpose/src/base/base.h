// Layer 1, base: what the whole library shares: the state of the process (below), the
// clock, locks, log messages, settings, and the functions of the MPI library, which are
// looked up when they are first needed. It calls bind/ only.
//
// The library only records. It never calls a collective, starts a thread, prints to
// stdout, or changes errno, a return code or an argument. On a failure it records less,
// reports it once, and continues.
#ifndef MT_BASE_H
#define MT_BASE_H

#include "base/calls_gen.h"
#include "base/layout_gen.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "row keys are compared as little-endian words"
#endif

#define MT_EXPORT __attribute__((visibility("default")))
#define MT_HIDDEN __attribute__((visibility("hidden"))) // on data: addressed directly, not through the GOT
// Thread-local data at a fixed offset. It is exported because the dispatcher defines the same
// data, and the copy of the library that it opens imports them: see dispatcher.h.
#define MT_THREAD_LOCAL __attribute__((visibility("default"), tls_model("initial-exec"))) _Thread_local
#define MT_SLOW __attribute__((noinline, cold)) // rarely called
#define MT_NOINLINE __attribute__((noinline))   // often called, not inlined
#define MT_INLINE static inline __attribute__((always_inline))
#define mt_likely(x) __builtin_expect(!!(x), 1)
#define mt_unlikely(x) __builtin_expect(!!(x), 0)

// Returns a handle as a 64-bit key. Open MPI's handles are pointers; MPICH's are 32-bit
// integers, which are zero-extended.
#define MT_KEY(handle)                                                                                                 \
    (sizeof(handle) == sizeof(uint32_t) ? (uint64_t)(uint32_t)(uintptr_t)(handle) : (uint64_t)(uintptr_t)(handle))

typedef enum mt_state {
    MT_NOT_STARTED, // before MPI is initialized: the library does nothing
    MT_STARTING,    // inside MPI_Init
    MT_ON,
    MT_OFF, // after MPI_Finalize, in a forked child, or after a failure: calls are only passed on
} mt_state;

// Flags: why a call needs more than two readings of the clock and one row. As long as
// none is set, a call only tests that the word is 0.
enum {
    MT_FLAG_CLOSED = 1,           // the state is not MT_ON: nothing is recorded
    MT_FLAG_PAUSED = 2,           // the program has paused recording
    MT_FLAG_CLOCK = 4,            // the clock is not an instruction of the CPU
    MT_FLAG_INTERVAL = 8,         // the run is cut into intervals of time
    MT_FLAG_SITES = 16,           // the call site may not be the return address: mt_path_site, find_site
    MT_FLAG_UNTIMED = 32,         // --timing off
    MT_FLAG_SAMPLED = 64,         // --timing sampled
    MT_FLAG_PVARS = 128,          // performance variables are read at intervals of time
    MT_FLAG_HIGHWATERMARKS = 256, // MPI_T handles of high-water marks watch how many requests are in flight
    MT_FLAG_TRACE = 512,          // calls add events to the trace
};

// The words that every call reads, in a cache line that is rarely written.
typedef struct mt_hot_state {
    _Atomic uint32_t flags;
    _Atomic uint32_t slice; // slice of calls that begin now
} __attribute__((aligned(128))) mt_hot_state;

// The state of the process, which all layers read. The comment on each member names the
// file that writes it, and when.
typedef struct mt_process_state {
    mt_hot_state hot;       // flags: mt_flag_set. slice: slice.c, under its lock
    _Atomic mt_state state; // lifecycle.c, under its lock, and in a forked child
    bool multiple;          // MPI_THREAD_MULTIPLE: shared tables need locks. request.c, before there are other threads
    bool serialized;        // MPI_THREAD_SERIALIZED: threads use MPI in turns. lifecycle.c, in MPI_Init
    bool receives_unfollowed; // --receives off. sample.c, before the first call is recorded
    bool forked;            // this process is a forked child of the recorded process. lifecycle.c, in the child
    uint32_t clock_kind;    // clock.c, before the recording is made
    int world_rank, world_size; // -1 until they are known. world.c, under its lock, in MPI_Init or Session_init
    mt_l_header *header;    // header of the recording, NULL until it is made. recording.c, once
} mt_process_state;

extern MT_HIDDEN mt_process_state mt_process;

// Returns the flags. Must not be used to wait for a change: a compiler may load the flags once
// for several uses, and before a loop.
MT_INLINE uint32_t mt_flags(void)
{
#if defined(__x86_64__)
    // In assembly that is not volatile, so that two tests in a row share one load.
    uint32_t flags;
    __asm__("movl %1, %0" : "=r"(flags) : "m"(mt_process.hot.flags));
    return flags;
#else
    return atomic_load_explicit(&mt_process.hot.flags, memory_order_relaxed);
#endif
}

// Reports whether no flag is set. In assembly, because compilers do not fold atomic loads
// into comparisons.
MT_INLINE bool mt_flags_none(void)
{
#if defined(__x86_64__)
    bool open;
    __asm__ volatile("cmpl $0, %1" : "=@cce"(open) : "m"(mt_process.hot.flags));
    return open;
#else
    return mt_flags() == 0;
#endif
}

// Sets a flag if its reason holds, else clears it.
void mt_flag_set(uint32_t reason, bool holds);

// The addresses from start to start + size.
typedef struct mt_code_range {
    _Atomic uint64_t start, size;
} mt_code_range;

MT_INLINE uint64_t mt_load(_Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

MT_INLINE void mt_store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

// Reports whether a word that other threads may write has this value.
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

// mt_read and mt_write are for words of which this thread is the only writer.
MT_INLINE uint64_t mt_read(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

MT_INLINE void mt_write(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

// Adds n to a word of which this thread is the only writer, without a locked
// instruction. A reader in another thread sees whole words, and sees this thread's
// additions in the order in which they were made.
MT_INLINE void mt_add(uint64_t *word, uint64_t n)
{
    if (__builtin_constant_p(n) && n == 0)
        return;
#if defined(__x86_64__)
    // One instruction: compilers make three of the atomic load and store.
    __asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(n) : "cc");
#else
    __atomic_store_n(word, *word + n, __ATOMIC_RELEASE);
#endif
}

// Reports whether a range contains an address.
MT_INLINE bool mt_lies_in(const mt_code_range *w, uint64_t address)
{
#if defined(__x86_64__)
    bool lies; // compared in memory, as compilers do not fold atomic loads and would need a register
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
    return atomic_load_explicit(&mt_process.state, memory_order_relaxed) == MT_ON;
}

// Writes one line to stderr, at most MT_LOG_LIMIT times in a process (log.c). If descriptor 2 is
// a file that the program has opened, the line is kept in the recording.
void mt_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Called when there is a recording: it gets the lines that were kept before.
void mt_log_recorded(void);

// Sets whether lines can be added to the recording. They cannot once its checksum is made.
void mt_log_open(bool open);

// Adds n to a counter in the recording's header, from any thread.
void mt_count_lost(uint64_t *counter, uint64_t n);

#endif

// The threads that have a table, and all data that a thread writes.
#ifndef MT_THREAD_H
#define MT_THREAD_H

#include "base/base.h"
#include "base/hook.h"
#include "record/row.h"
#include "record/usage.h"

#define MT_PAUSED 0xffffffffu // slice of a call that began while recording was paused

// The call that a thread is in: a thread's mt_l_open, which starts with a key as a row
// does. The thread writes it. When the call returns, the thread reads in it which row
// the call is booked in.
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
_Static_assert(sizeof(mt_current_call) == sizeof(mt_l_open), "the current call must have the layout of mt_l_open");
_Static_assert(offsetof(mt_current_call, call) == offsetof(mt_l_open, call), "readers find the call at this offset");
_Static_assert(offsetof(mt_current_call, last) == offsetof(mt_l_open, last) &&
                   offsetof(mt_current_call, count) == offsetof(mt_l_open, count),
               "readers find these members at these offsets");

// A call during which another was made, or that was left without returning (by longjmp
// out of an error handler).
typedef struct mt_outer {
    uint64_t frame; // frame address of the call's wrapper; 0: this entry is free
    mt_current_call line;
    bool left; // it is counted as left
} mt_outer;

enum { MT_OUTER_CALLS = 8 };

typedef struct mt_comm mt_comm;

typedef struct mt_type_cached {
    _Atomic uint64_t key;
    uint64_t size;
} mt_type_cached;

typedef struct mt_comm_cached {
    _Atomic uint64_t key;
    mt_comm *comm;
} mt_comm_cached;

typedef struct mt_win_cached {
    _Atomic uint64_t key;
    mt_comm *comm;   // the communicator that has the window's group
    uint32_t number; // number of the window in this process, 0 if its creation was not seen
} mt_win_cached;

enum { MT_TYPE_CACHE = 16, MT_COMM_CACHE = 8, MT_WIN_CACHE = 4, MT_VECTOR_CHAINS = 64, MT_PACES = 256 };

// How often the calls of a site are timed, if calls are timed by samples: about one in
// `every`.
typedef struct mt_pace {
    uint32_t left;        // untimed calls before the next timed one
    uint16_t drawn;       // value of `every` when `left` was drawn
    uint16_t every, next; // one call in `every` is timed; `next` replaces it when the turn ends
    uint16_t turn;        // timed calls in this turn, so far
} mt_pace;

// All data that one thread writes. A thread that ends leaves it to the next that
// starts. Handles are cached until they are freed. The thread that frees a handle,
// which may be any, clears its key before the MPI can reuse the handle.
typedef struct mt_thread {
    // The first cache line has what nearly every call needs.
    mt_row *rows;
    uint64_t mask;   // (capacity - 1) * sizeof(mt_row)
    mt_current_call *open;   // the call that it is in, in the thread's record
    uint64_t frame;  // frame address of that call's wrapper
    _Atomic uint64_t comm_key;  // key of the last communicator; intercommunicators are not kept here
    uint32_t comm_index;
    int32_t comm_rank;
    _Atomic uint64_t type_key;  // key of the last datatype
    uint64_t type_size;

    mt_comm_cached comms[MT_COMM_CACHE];
    mt_type_cached types[MT_TYPE_CACHE];
    mt_win_cached wins[MT_WIN_CACHE];
    mt_l_chunk *chunk;       // the chunk that events are written to
    uint32_t rows_at;        // position of `rows` in the recording, in rows
    uint32_t request_number; // number of the request that the current call starts, for the call's event; else 0
    bool extended;           // rows also have samples or events
    uint32_t cached_uses;    // number of calls whose communicator or datatype was cached, and not the last one
    uint64_t used, limit;
    uint32_t index;
    uint32_t random;
    uint64_t began; // ticks when the thread that has it made its first call
    long id;        // of that thread, as in /proc/self/task; 0 when it has ended
    mt_thread_use before; // what it had used when it was last added to its record
    bool full; // growing the table failed, it is not tried again
    mt_l_thread *record;
    mt_pace *paces; // MT_PACES entries, by a hash of the site; NULL unless calls are timed by samples
    struct mt_vectors *vectors[MT_VECTOR_CHAINS];
    mt_outer outer[MT_OUTER_CALLS];
    uint32_t outers; // number of entries of `outer` in use
    void *handles;   // memory that completion.c keeps for handles and statuses, or NULL
    size_t handles_size;
    uint64_t moved;  // number of rows whose site was moved (modules.h) since the table was made
    struct mt_outgrown *outgrown; // former tables whose rows events refer to
    struct mt_thread *next;    // in the list of ended threads
    struct mt_thread *sibling; // in the list of all threads
    mt_row spare;           // is booked in when no row can be found
} __attribute__((aligned(128))) mt_thread;
_Static_assert(offsetof(mt_thread, comms) == 64, "the members before comms must fill the first cache line");

extern MT_THREAD_LOCAL mt_thread *mt_self;

// As mt_self, for the paths that are inlined (call.h), except that it is never NULL: for a thread
// without a table it is an mt_thread that is always in a call, which therefore takes the general
// path. That saves a comparison with NULL.
extern MT_THREAD_LOCAL mt_thread *mt_quick_self;

// Sets the mt_thread of the calling thread, or none if t is NULL.
void mt_thread_set_self(mt_thread *t);

// A call that is open.
typedef struct mt_span {
    mt_thread *thread; // NULL: the call is not recorded
    uint64_t start;    // ticks at the start, minus the ticks that the thread had spent in calls before
    uint64_t ticks;    // duration in ticks, once the call is closed
    uint64_t site;
    uint64_t frame;
    uint32_t slice;
    uint16_t call;
    bool timed;
} mt_span;

// The caller of a wrapper: the call site, and the frame address of the wrapper.
typedef struct mt_caller {
    uint64_t site, frame;
} mt_caller;

// Called when a thread without a table makes a call from `site`, perhaps the first call
// of the process. Returns the thread with its new table, or NULL.
typedef mt_thread *mt_hook_thread_wanted(uint64_t site);
MT_HOOK(thread_wanted);

// Called when an mt_thread was made: gives it a table. Returns false if there is no
// room.
typedef bool mt_hook_thread_made(mt_thread *t);
MT_HOOK(thread_made);

// Called when a thread takes over the mt_thread of a thread that ended; when a thread ends, perhaps
// in the middle of a call; and when a thread has ended, before another takes over its mt_thread.
typedef void mt_hook_thread_started(mt_thread *t);
typedef void mt_hook_thread_ends(void);
typedef void mt_hook_thread_ended(mt_thread *t);
MT_HOOK(thread_started);
MT_HOOK(thread_ends);
MT_HOOK(thread_ended);

// Gives the calling thread a table. Returns NULL if there is no room.
mt_thread *mt_thread_attach(void);

// mt_thread_initialized_mpi is called after MPI was initialized, mt_thread_finalizes_mpi
// before it is finalized, once header.finalize_start is set. The lifetime of the main thread
// lies between them; see mt_l_thread.first.
void mt_thread_initialized_mpi(mt_thread *t);
void mt_thread_finalizes_mpi(void);

// Adds what the threads used until now to their records, and counts the threads of the
// process. Called once header.finalize_start is set.
void mt_thread_use_close(void);

// Calls visit for each thread that has a table, and for the tables of ended threads.
void mt_thread_each(void (*visit)(void *, mt_thread *), void *argument);

// Counts the calls that any thread is still in as left, because MPI_Finalize has returned.
// They are counted in the calling thread's table, whose own calls must have ended.
void mt_thread_leave_calls(void);

#endif

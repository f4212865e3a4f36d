// The threads that have a table, and all that a thread writes.
#ifndef MT_THREAD_H
#define MT_THREAD_H

#include "base/base.h"
#include "base/hook.h"
#include "record/row.h"

#define MT_PAUSED 0xffffffffu // the slice of what began in a pause

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
    void *handles;   // room that completion.c keeps for handles and statuses, or NULL
    size_t handles_size;
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

// A thread without a table makes a call from `site`, perhaps the first of the process:
// it is given a table, or NULL.
typedef mt_thread *mt_hook_thread_wanted(uint64_t site);
MT_HOOK(thread_wanted);

// A thread was made: it is given a table. False if there is no room.
typedef bool mt_hook_thread_made(mt_thread *t);
MT_HOOK(thread_made);

// A thread takes over what one that ended had left; it ends, and may be in a call
// yet; it has ended, and leaves what it has to the next that starts.
typedef void mt_hook_thread_started(mt_thread *t);
typedef void mt_hook_thread_ends(void);
typedef void mt_hook_thread_ended(mt_thread *t);
MT_HOOK(thread_started);
MT_HOOK(thread_ends);
MT_HOOK(thread_ended);

// Gives the calling thread a table; NULL if there is no room.
mt_thread *mt_thread_attach(void);

// Calls visit for every table there is.
void mt_thread_each(void (*visit)(void *, mt_thread *), void *argument);

#endif

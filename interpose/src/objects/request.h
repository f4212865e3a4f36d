// Requests that have something left to tell: receives (who sent how much is
// known when they complete), persistent ones, communicators to come. Sends are
// counted where they start and are not followed.
//
// Where another thread, or a function of the program's that the MPI calls, can
// be given the same handle at once, an entry is taken out of the table before
// the MPI may free the handle, and put back if the request did not complete.
// Elsewhere it is looked up when the request has completed.
#ifndef MT_REQUEST_H
#define MT_REQUEST_H

#include "base/resolve.h"
#include "record/modules.h"
#include "record/record.h"
#include "objects/comm.h"
#include "objects/state.h"

typedef enum mt_request_kind {
    MT_RECEIVE,
    MT_UNTOLD_RECEIVE, // whose status the MPI does not set
    MT_CANCELLED_SEND, // of which nothing is known but that MPI_Cancel was called
    MT_PERSISTENT_SEND,
    MT_PERSISTENT_RECEIVE,
    MT_PERSISTENT_COLL,
    MT_NEW_COMM,
    MT_OPERATION, // a send or a collective, in a trace: when it completes is all there is to tell
} mt_request_kind;

typedef struct mt_request {
    uint64_t key; // the handle; 0 in an empty place
    uint64_t site;
    mt_comm *comm;
    union {
        uint64_t bytes; // of a persistent send
        void *extra;    // mt_request_promise or mt_volume_fixed, malloc'ed
    };
    int32_t peer;   // as a row has it
    uint32_t slice;
    uint32_t number; // that the events of what started it and of what completes it have
    int32_t tag;     // of a persistent one, as it was given
    uint16_t call;
    uint8_t kind;
    bool active;    // a persistent one that was started
    bool counted;   // its completion was seen by Request_get_status
    bool cancelled; // MPI_Cancel was called: its completion tells whether it was
} mt_request;

// A communicator that Comm_idup wrote at once, as MPIs do, or will have written
// to `later`. Where it was written may be gone by the end (Open MPI's Fortran
// layer has it on its stack).
typedef struct mt_request_promise {
    mt_comm_origin origin;
    MPI_Comm made;
    MPI_Comm *later; // or NULL
} mt_request_promise;

// Open addressing, one table of requests and one of matched messages.
typedef struct mt_table mt_table;
extern MT_OURS mt_table mt_requests, mt_messages;

void mt_table_put(mt_table *table, const mt_request *entry);
bool mt_table_take(mt_table *table, uint64_t key, mt_request *entry);

// Whether entries have to be taken out beforehand.
MT_INLINE bool mt_take_first(void)
{
    return mt_process.multiple || atomic_load_explicit(&mt_objects.callbacks, memory_order_relaxed);
}

// Settles a request that completed with this status, and was not taken out.
// False if it is not followed.
bool mt_request_completed(MPI_Request request, const MPI_Status *status);

// From now on threads may use the tables at the same time.
void mt_request_share(void);

// Whether the tables have any entry.
MT_INLINE bool mt_any_followed(void)
{
    return atomic_load_explicit(&mt_objects.request_count, memory_order_relaxed) != 0;
}

MT_INLINE void mt_requests_count(int64_t n)
{
    if (mt_unlikely(mt_process.multiple))
        atomic_fetch_add_explicit(&mt_objects.request_count, n, memory_order_relaxed);
    else
        mt_add((uint64_t *)&mt_objects.request_count, (uint64_t)n);
}

// A request completed with this status: books what it tells. A persistent one
// goes back into the table, inactive.
void mt_request_done(mt_request *entry, const MPI_Status *status);

// A request completed with an error. `status` may tell its source, if it is
// not NULL. Where the handle is gone, so is a persistent one.
void mt_request_failed(mt_request *entry, int error, const MPI_Status *status, bool gone);

// Its status was asked for without completing it.
void mt_request_looked_at(mt_request *entry, int error, const MPI_Status *status);

// Whether it is a persistent receive, of what communicator and peer.
bool mt_request_receives(MPI_Request request, mt_comm **comm, int32_t *peer);

// It was freed by the program.
void mt_request_freed(mt_request *entry);

// A request was cancelled, or will be when it completes. One that is not followed must be a send.
void mt_request_cancelled(const mt_span *s, MPI_Request request);

// Remembers a posted receive; `peer` as a row has it.
void mt_request_receive(uint64_t site, uint32_t slice, unsigned call, mt_comm *comm, int32_t peer,
                        MPI_Request request, uint32_t number) MT_APART;

// As above, for one that another call than Irecv posted.
void mt_request_posted(const mt_span *s, MPI_Request request, mt_request_kind kind, mt_comm *comm, int32_t peer,
                       uint32_t number);

// Remembers an operation that the call at hand starts, where it is traced.
void mt_request_operation(mt_thread *t, MPI_Request request);

// A persistent collective was started in this slice: its messages are to be booked.
typedef void mt_hook_volume_started(mt_thread *t, const mt_request *entry, uint32_t slice);
MT_HOOK(volume_started);

// A request was remembered, while somebody watches how many there are.
typedef void mt_hook_requests_watched(void);
MT_HOOK(requests_watched);

MT_INLINE void mt_request_remembered(void)
{
    if (mt_unlikely(mt_enter_flags() & MT_ENTER_MOST))
        MT_CALL_HOOK(requests_watched);
}

// Names what is still open after MPI_Finalize: it never completed.
void mt_requests_unfinished(void);

// The rank in the communicator that a failed receive's message came from, as a
// row has it: the posted one, else what the status says if that is a rank.
int32_t mt_failed_source(const mt_comm *c, int32_t posted, const MPI_Status *status);

// The tag of a message that was truncated, as the MPI tells it.
int32_t mt_failed_tag(int32_t posted, const MPI_Status *status);

// A persistent request was started by the call `s`: books its messages, and
// with `alone` (Start, but not Startall) the call itself, whose span is closed.
void mt_request_started(mt_span *s, MPI_Request request, bool alone);

#endif

// Requests that are followed until they complete: receives (their source and size are known
// only then), persistent requests, and communicators that MPI_Comm_idup makes. Sends are
// counted when they start. They are followed in a trace only, as MT_OPERATION, for the time
// of their completion.
//
// Where another thread, or a callback of the program, can be given the same handle during a
// call, an entry is taken out of the table before the MPI may free the handle. It is put
// back if the request did not complete. Otherwise it is looked up when the request has
// completed.
#ifndef MT_REQUEST_H
#define MT_REQUEST_H

#include "base/resolve.h"
#include "record/modules.h"
#include "record/record.h"
#include "objects/comm.h"
#include "objects/state.h"

typedef enum mt_request_kind {
    MT_RECEIVE,
    MT_RECEIVE_NO_STATUS, // a receive whose status the MPI does not set
    MT_CANCELLED_SEND,    // known only from MPI_Cancel
    MT_PERSISTENT_SEND,
    MT_PERSISTENT_RECEIVE,
    MT_PERSISTENT_COLL,
    MT_NEW_COMM,
    MT_OPERATION, // a send or a collective in a trace; only its completion is recorded
} mt_request_kind;

typedef struct mt_request {
    uint64_t key; // the handle; 0 in an empty slot
    uint64_t site;
    mt_comm *comm;
    union {
        uint64_t bytes; // of a persistent send
        void *extra;    // mt_request_idup or mt_volume_fixed, malloc'ed
    };
    int32_t peer;   // as in a row
    uint32_t slice;
    uint32_t number; // of the request, in the events of its start and of its completion
    int32_t tag;     // of a persistent request, as passed by the program
    uint16_t call;
    uint8_t kind;
    bool active;    // a persistent request that was started
    bool counted;   // its completion was recorded by a Request_get_status
    bool cancelled; // MPI_Cancel was called; the status shows whether it was cancelled
    bool failed;    // a call to complete it failed, and left the handle
} mt_request;

// The new communicator of MPI_Comm_idup. MPIs write its handle at the call; if one has not,
// `later` is where it will be written. Otherwise that address is not used: it may be
// invalid at completion, since Open MPI's Fortran layer passes that of a local variable.
typedef struct mt_request_idup {
    mt_comm_origin origin;
    MPI_Comm made;
    MPI_Comm *later; // or NULL
} mt_request_idup;

// Hash tables with open addressing, one of requests and one of matched messages. Each has
// MT_SHARDS shards with a mutex each (MT_LOCK_REQUESTS), which is taken only if
// mt_process.multiple. Otherwise only the first shard is used, without a lock.
void mt_table_put(mt_table *table, const mt_request *entry);
bool mt_table_take(mt_table *table, uint64_t key, mt_request *entry);

// Reports whether entries have to be taken out of the table before a call.
MT_INLINE bool mt_take_before_call(void)
{
    return mt_process.multiple || atomic_load_explicit(&mt_objects.callbacks, memory_order_relaxed);
}

// Records a request that completed with this status, and whose entry was not taken out.
// Returns false if it is not followed.
bool mt_request_completed(MPI_Request request, const MPI_Status *status);

// Prepares the tables for threads that use them at the same time, and sets
// mt_process.multiple.
void mt_requests_enable_threads(void);

// Reports whether any request or matched message is followed.
MT_INLINE bool mt_requests_any(void)
{
    return atomic_load_explicit(&mt_objects.request_count, memory_order_relaxed) != 0;
}

MT_INLINE void mt_requests_add_count(int64_t n)
{
    if (mt_unlikely(mt_process.multiple))
        atomic_fetch_add_explicit(&mt_objects.request_count, n, memory_order_relaxed);
    else
        mt_add((uint64_t *)&mt_objects.request_count, (uint64_t)n);
}

// Records a request that completed with this status. Puts a persistent one back into the
// table, inactive.
void mt_request_entry_completed(mt_request *entry, const MPI_Status *status);

// Records a request that completed with an error. `status` may have its source, if it is
// not NULL. If the handle is gone, a persistent request is gone as well.
void mt_request_failed(mt_request *entry, int error, const MPI_Status *status, bool gone);

// Puts a request or message back into its table: the call that was to complete it failed,
// but left the handle. It counts as failed, unless it is seen to complete later.
void mt_table_put_failed(mt_table *table, mt_request *entry);

// Records a completion that MPI_Request_get_status reported, which does not free the
// request.
void mt_request_got_status(mt_request *entry, int error, const MPI_Status *status);

// Reports whether the request is a persistent receive, and sets its communicator and peer.
bool mt_request_is_persistent_receive(MPI_Request request, mt_comm **comm, int32_t *peer);

// Records that the program freed a request.
void mt_request_freed(mt_request *entry);

// Records that MPI_Cancel was called for a request. A request that is not followed must be
// a send.
void mt_request_cancelled(const mt_span *s, MPI_Request request);

// Adds a posted receive to the table. `peer` is as in a row.
void mt_request_add_receive(uint64_t site, uint32_t slice, unsigned call, mt_comm *comm, int32_t peer,
                            MPI_Request request, uint32_t number) MT_NOINLINE;

// Does what mt_request_add_receive does, for a receive that was not posted by Irecv. Also adds the
// posting to a row (MT_DIR_POSTED).
void mt_request_posted(const mt_span *s, MPI_Request request, mt_request_kind kind, mt_comm *comm, int32_t peer,
                       uint32_t number);

// Follows an operation that the current call starts, if the call is traced.
void mt_request_add_operation(mt_thread *t, MPI_Request request);

// Hook: a persistent collective was started in this slice, and its messages are to be
// recorded.
typedef void mt_hook_volume_started(mt_thread *t, const mt_request *entry, uint32_t slice);
MT_HOOK(volume_started);

// Hook: a request was added, while a high-water mark of requests is being kept.
typedef void mt_hook_request_added(void);
MT_HOOK(request_added);

MT_INLINE void mt_request_added(void)
{
    if (mt_unlikely(mt_flags() & MT_FLAG_HIGHWATERMARKS))
        MT_CALL_HOOK(request_added);
}

// Adds a matched message.
void mt_message_add(const mt_request *entry);

// Records what has not completed by the end of MPI_Finalize, and empties the tables.
void mt_requests_close(void);

// Records that the call `s` started a persistent request, with its messages. With `alone`
// (Start, but not Startall) also records the call itself, whose span is closed.
void mt_request_started(mt_span *s, MPI_Request request, bool alone);

#endif

// The policies of the table of calls: what is written about a call before it is passed on
// (mt_begin_x), and what is recorded when it has returned (mt_end_x).
//
// The policies of calls that programs make in loops are functions that are inlined into the
// wrappers, for each path of call.h (mt_path_begin_x, mt_path_end_x). All other calls use
// the functions of policy.c.
#ifndef MT_POLICY_H
#define MT_POLICY_H

#include "base/resolve.h"
#include "record/record.h"
#include "record/trace.h"
#include "objects/comm.h"
#include "objects/posted.h"
#include "objects/request.h"
#include "objects/status.h"
#include "calls/call.h"
#include "calls/volume.h"

// Neither a rank nor one of MPI's constants for a rank argument.
#define MT_NO_RANK (-0x7fff0000)

// Returns a rank argument as in a row.
MT_INLINE int32_t mt_peer(int rank)
{
    if (mt_likely(rank >= 0))
        return rank;
    return rank == MPI_PROC_NULL ? MT_PEER_PROC_NULL : rank == MPI_ANY_SOURCE ? MT_PEER_ANY_SOURCE : MT_PEER_NONE;
}

// Returns a status that can be read after the call: `own` if the program ignores its
// status. It has no rank until the MPI sets one.
MT_INLINE MPI_Status *mt_seen(MPI_Status *status, MPI_Status *own)
{
    if (status != MPI_STATUS_IGNORE)
        return status;
    own->MPI_SOURCE = MT_NO_RANK;
    return own;
}

// --- Before the call.

// Sets the tag of a call that may be traced, in the field that has a count in other calls.
MT_INLINE void mt_path_tag(mt_path path, const mt_call *c, int tag)
{
    if (path == MT_CACHED || path == MT_GENERAL)
        c->span.thread->open->count = (uint32_t)tag;
}

// A call that names a peer and moves no data, for example a probe.
MT_INLINE bool mt_path_begin_probe(mt_path path, mt_call *c, MPI_Comm comm, int peer, int tag)
{
    uint32_t index;
    if (!mt_path_records(path, c))
        return true;
    mt_path_tag(path, c, tag);
    return mt_path_comm(path, c, comm, &index) && mt_path_write(path, c, MT_DIR_NONE, index, mt_peer(peer), 0);
}

MT_INLINE bool mt_path_begin_send(mt_path path, mt_call *c, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                                  int tag)
{
    uint32_t index;
    uint64_t bytes;
    if (!mt_path_records(path, c))
        return true;
    mt_path_tag(path, c, tag);
    if (!mt_path_comm(path, c, comm, &index))
        return false;
    if (mt_unlikely(dest < 0)) // MPI_PROC_NULL is negative, and so are invalid ranks
        return (path == MT_GENERAL || dest == MPI_PROC_NULL) &&
               mt_path_write(path, c, MT_DIR_NONE, index, mt_peer(dest), 0);
    return mt_path_bytes(path, c, count, type, &bytes) && mt_path_write(path, c, MT_DIR_SEND, index, dest, bytes);
}

// A blocking receive. Until it returns, its bytes are those of its buffer.
MT_INLINE bool mt_path_begin_recv(mt_path path, mt_call *c, MPI_Comm comm, int source, int64_t count,
                                  MPI_Datatype type, int tag)
{
    uint32_t index;
    uint64_t room;
    if (!mt_path_records(path, c))
        return true;
    mt_path_tag(path, c, tag);
    if (!mt_path_comm(path, c, comm, &index))
        return false;
    if (mt_unlikely(source == MPI_PROC_NULL))
        return mt_path_write(path, c, MT_DIR_NONE, index, MT_PEER_PROC_NULL, 0);
    return mt_path_bytes(path, c, count, type, &room) &&
           mt_path_write(path, c, MT_DIR_RECV, index, mt_peer(source), room);
}

MT_INLINE bool mt_path_begin_sendrecv(mt_path path, mt_call *c, MPI_Comm comm, int dest, int64_t count,
                                      MPI_Datatype type, int source, int tag)
{
    if (!mt_path_records(path, c))
        return true;
    c->span.thread->open->source = mt_peer(source);
    return mt_path_begin_send(path, c, comm, dest, count, type, tag);
}

// A collective whose volume has to be computed, or whose communicator is not known.
void mt_begin_volume(mt_call *c, MPI_Comm comm, const mt_volume *v);

// Sets the index of an intracommunicator, and the rank in it. Returns false if the handle
// is not in the thread's caches, or is that of an intercommunicator.
MT_INLINE bool mt_path_intracomm(mt_path path, mt_call *c, MPI_Comm comm, uint32_t *index, int *rank)
{
    mt_thread *t = c->span.thread;
    if (mt_likely(mt_holds(&t->comm_key, MT_KEY(comm)))) { // never that of an intercommunicator
        *index = t->comm_index;
        *rank = t->comm_rank;
        return true;
    }
    if (path == MT_TIMED || path == MT_UNTIMED)
        return false;
    mt_comm_cached *hit = mt_comm_cache_slot(t->comms, MT_COMM_CACHE, MT_KEY(comm));
    const mt_comm *known = hit->comm;
    if (!mt_holds(&hit->key, MT_KEY(comm)) || !known || (known->flags & MT_COMM_INTER) || known->index == MT_COMM_NONE)
        return false;
    *index = known->index;
    *rank = known->rank;
    return path == MT_GENERAL || mt_path_uses_cache(t);
}

// A collective. The sizes of its arrays are computed when it has succeeded.
MT_INLINE bool mt_path_begin_coll(mt_path path, mt_call *c, MPI_Comm comm, mt_volume v)
{
    bool from_root = v.shape == MT_SHAPE_FROM_ROOT, plain = !v.vector && (from_root || v.shape == MT_SHAPE_ALL);
    uint64_t bytes = 0;
    uint32_t index;
    int rank;
    if (!mt_path_records(path, c))
        return true;
    if (!plain || !mt_path_intracomm(path, c, comm, &index, &rank)) {
        if (path == MT_GENERAL)
            mt_begin_volume(c, comm, &v);
        return path == MT_GENERAL;
    }
    bool sends = !from_root || v.root == rank;
    return (!sends || mt_path_bytes(path, c, v.count, v.type, &bytes)) &&
           mt_path_write(path, c, sends ? MT_DIR_SEND : MT_DIR_NONE, index, from_root ? v.root : MT_PEER_NONE, bytes);
}

// One-sided: data moves to or from a rank of the window's group.
MT_INLINE bool mt_path_begin_rma(mt_path path, mt_call *c, MPI_Win win, int target, unsigned direction, int64_t count,
                                 MPI_Datatype type)
{
    uint32_t index;
    uint64_t bytes;
    if (!mt_path_records(path, c))
        return true;
    if (!mt_path_win(path, c, win, 0, &index))
        return false;
    if (mt_unlikely(target < 0))
        return (path == MT_GENERAL || target == MPI_PROC_NULL) &&
               mt_path_write(path, c, MT_DIR_NONE, index, mt_peer(target), 0);
    return mt_path_bytes(path, c, count, type, &bytes) && mt_path_write(path, c, direction, index, target, bytes);
}

// A call on a window that moves no data itself. `lock` is what MPI_Win_lock asks for, else
// 0.
MT_INLINE bool mt_path_begin_win(mt_path path, mt_call *c, MPI_Win win, int rank, uint32_t lock)
{
    uint32_t index;
    if (!mt_path_records(path, c))
        return true;
    return mt_path_win(path, c, win, lock, &index) &&
           mt_path_write(path, c, MT_DIR_NONE, index, mt_peer(rank), 0);
}

// A call that is given this many requests.
MT_INLINE bool mt_path_begin_count(mt_path path, mt_call *c, int count)
{
    if (!mt_path_records(path, c))
        return true;
    c->span.thread->open->count = (uint32_t)count;
    return mt_path_write(path, c, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0);
}

// General-path versions of the functions above; then the policies of all other calls.
void mt_begin_probe(mt_call *c, MPI_Comm comm, int peer, int tag);
void mt_begin_send(mt_call *c, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int tag);
void mt_begin_recv(mt_call *c, MPI_Comm comm, int source, int64_t count, MPI_Datatype type, int tag);
void mt_begin_sendrecv(mt_call *c, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source, int tag);
void mt_begin_coll(mt_call *c, MPI_Comm comm, mt_volume volume);
void mt_begin_rma(mt_call *c, MPI_Win win, int target, unsigned direction, int64_t count, MPI_Datatype type);
void mt_begin_rma_both(mt_call *c, MPI_Win win, int target, MPI_Op op, int64_t written, MPI_Datatype written_type,
                       int64_t read, MPI_Datatype read_type);
void mt_begin_win(mt_call *c, MPI_Win win, int rank, uint32_t lock);
void mt_begin_win_lock(mt_call *c, MPI_Win win, int rank, int type);
void mt_begin_count(mt_call *c, int count);

// File input and output: bytes, no peer.
void mt_begin_io(mt_call *c, unsigned direction, int64_t count, MPI_Datatype type);

// A call on a communicator that moves no data.
void mt_begin_comm(mt_call *c, MPI_Comm comm);

// Does what mt_begin_comm does, for a communicator that is known, or NULL, and with a peer as in a
// row.
void mt_begin_known_comm(mt_call *c, const mt_comm *comm, int32_t peer);

// A receive of a matched message: takes what was remembered of the message.
void mt_begin_mrecv(mt_call *c, const MPI_Message *message, int64_t count, MPI_Datatype type);
void mt_begin_imrecv(mt_call *c, const MPI_Message *message);

// --- After the call. Policies that are not here record what was written before the call:
// mt_end.

// Reports whether a status has a message, in fields that can be trusted.
MT_INLINE bool mt_has_message(const MPI_Status *seen)
{
    return mt_likely(seen->MPI_SOURCE >= 0) && mt_likely(mt_objects.status_trusted);
}

// Returns the key of a received message: as in the thread's current call, but with its
// source and its size.
MT_INLINE mt_key mt_received_key(const mt_current_call *o, unsigned call, unsigned direction, int32_t source,
                                 uint64_t bytes)
{
    return mt_key_of(o->site, o->slice, call, direction, o->comm, source, mt_size_class(bytes));
}

// Records a call that took a quick path as it was written before the call: a receive from
// MPI_PROC_NULL, which is common at the edge of a domain.
int mt_end_as_written(mt_thread *t) MT_NOINLINE;

// A blocking receive: the bytes and the source are those of its status.
int mt_end_recv(mt_call *c, int rc, const MPI_Status *seen);
int mt_end_unusual_recv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen) MT_SLOW;

MT_INLINE int mt_path_end_recv(mt_path path, mt_call *c, int rc, const MPI_Status *seen)
{
    mt_thread *t = c->span.thread;
    if (mt_path_is_unusual(path, c, rc) || !mt_has_message(seen)) {
        if (t->open->peer == MT_PEER_PROC_NULL && !mt_path_is_unusual(path, c, rc))
            return mt_end_as_written(t);
        return mt_end_unusual_recv(t, c->span.call, mt_path_frame(path, c), rc, seen);
    }
    mt_current_call *o = t->open;
    uint64_t ticks = mt_path_close(path, o), bytes = mt_status_fields(seen);
    mt_path_tag(path, c, seen->MPI_TAG);
    mt_key k = mt_received_key(o, c->span.call, MT_DIR_RECV, seen->MPI_SOURCE, bytes);
    return mt_path_book(path, t, o, k, bytes, ticks);
}

// A send and a receive: the send has the time.
int mt_end_sendrecv(mt_call *c, int rc, const MPI_Status *seen);
int mt_end_unusual_sendrecv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen) MT_SLOW;

MT_INLINE int mt_path_end_sendrecv(mt_path path, mt_call *c, int rc, const MPI_Status *seen)
{
    mt_thread *t = c->span.thread;
    if (mt_path_is_unusual(path, c, rc) || !mt_has_message(seen)) {
        if (t->open->source == MT_PEER_PROC_NULL && !mt_path_is_unusual(path, c, rc))
            return mt_end_as_written(t);
        return mt_end_unusual_sendrecv(t, c->span.call, mt_path_frame(path, c), rc, seen);
    }
    mt_current_call *o = t->open;
    uint64_t ticks = mt_path_close(path, o), received = mt_status_fields(seen);
    mt_key k = mt_received_key(o, c->span.call, MT_DIR_RECV_POSTED, seen->MPI_SOURCE, received);
    if (path == MT_CACHED)
        mt_book_message(t, k, received, seen->MPI_TAG, mt_trace_request(t));
    else
        mt_book_untimed(t, k, received);
    uint64_t bytes = mt_read(&o->bytes);
    return mt_path_book(path, t, o, mt_path_key(o, bytes), bytes, ticks);
}

// A nonblocking send. A trace also has when it was seen to have completed.
int mt_end_isend(mt_call *c, int rc, MPI_Request *request);

MT_INLINE int mt_path_end_isend(mt_path path, mt_call *c, int rc, MPI_Request *request)
{
    mt_thread *t = c->span.thread;
    if (path == MT_CACHED && mt_traced() && rc == MPI_SUCCESS) {
        if (mt_unlikely(t->frame != c->span.frame))
            mt_current_call_restore(t, c->span.call, c->span.frame);
        if (t->open->peer != MT_PEER_PROC_NULL)
            mt_request_add_operation(t, *request);
    }
    return mt_path_end(path, c, rc);
}

// A nonblocking receive: records the call now, and its message when it completes.
int mt_end_irecv(mt_call *c, int rc, MPI_Request *request);
void mt_follow_receive(const mt_current_call *o, MPI_Request request, uint32_t number) MT_NOINLINE;

MT_INLINE int mt_path_end_irecv(mt_path path, mt_call *c, int rc, MPI_Request *request)
{
    mt_thread *t = c->span.thread;
    if (mt_unlikely(rc != MPI_SUCCESS))
        return mt_end_unusual(t, c->span.call, mt_path_frame(path, c), rc);
    if (mt_unlikely(t->frame != mt_path_frame(path, c)))
        mt_current_call_restore(t, c->span.call, mt_path_frame(path, c));
    mt_current_call *o = t->open;
    uint64_t ticks = mt_path_close(path, o);
    // A receive from MPI_PROC_NULL completes at once, and its handle may be shared.
    if (mt_likely(o->peer != MT_PEER_PROC_NULL) && !mt_process.receives_unfollowed) {
        uint32_t number = path == MT_CACHED ? mt_trace_request(t) : 0;
        if (!mt_posted_add(o, *request, number))
            mt_follow_receive(o, *request, number);
    }
    return mt_path_book(path, t, o, mt_path_key(o, 0), 0, ticks);
}

// Nonblocking operations that are recorded completely at the call. A trace also has when
// they were seen to have completed.
int mt_end_operation(mt_call *c, int rc, MPI_Request *request);

int mt_end_isendrecv(mt_call *c, int rc, MPI_Request *request);

// Persistent requests are remembered even while recording is paused, since they may be used
// later. The same holds for matched messages and communicators.
int mt_end_send_init(mt_call *c, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                     MPI_Request *request);
int mt_end_recv_init(mt_call *c, int rc, MPI_Comm comm, int source, MPI_Request *request);
int mt_end_start(mt_call *c, int rc, MPI_Request *request);
int mt_end_startall(mt_call *c, int rc, int count, MPI_Request requests[]);
int mt_end_mprobe(mt_call *c, int rc, MPI_Comm comm, int source, const int *flag, MPI_Message *message);
int mt_end_mrecv(mt_call *c, int rc, const MPI_Status *seen);
int mt_end_imrecv(mt_call *c, int rc, const MPI_Request *request);
int mt_end_coll_init(mt_call *c, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request);

// Writes the origin's data (except with MPI_NO_OP) and reads the target's.
int mt_end_rma_both(mt_call *c, int rc, MPI_Win win, int target, MPI_Op op, int64_t read, MPI_Datatype read_type);

int mt_end_win_group(mt_call *c, int rc, MPI_Win win, MPI_Group group);
int mt_end_win_made(mt_call *c, int rc, MPI_Comm comm, MPI_Win *win);

// A datatype was committed: it is valid, so its size is looked up now.
int mt_end_commit(mt_call *c, int rc, const MPI_Datatype *type);

// The program passed MPI a function to call: see mt_objects.callbacks.
int mt_end_callback(mt_call *c, int rc);

// Communicator management: the call is recorded under the parent.
int mt_end_comm(mt_call *c, int rc, MPI_Comm parent, MPI_Comm *made);
int mt_end_comm_group(mt_call *c, int rc, MPI_Comm parent, int tag, MPI_Comm *made);
int mt_end_comm_from_group(mt_call *c, int rc, const char *tag, MPI_Comm *made);
int mt_end_comm_idup(mt_call *c, int rc, MPI_Comm parent, MPI_Comm *made, MPI_Request *request);
int mt_end_comm_name(mt_call *c, int rc, MPI_Comm comm, const char *name);

#endif

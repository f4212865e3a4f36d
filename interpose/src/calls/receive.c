// Receives when they have returned: what they received, that they failed, or that they are to
// be followed. A part of the policies of policy.h.
#include "calls/policy.h"

#include "record/current_call.h"
#include "record/trace.h"
#include "objects/status.h"

static bool is_message(int source, const MPI_Status *seen)
{
    return source != MPI_PROC_NULL && seen->MPI_SOURCE >= 0;
}

// Records a receive from its status. The span is closed.
static void book_received(mt_span *s, uint32_t comm, int source, const MPI_Status *seen)
{
    bool moves = is_message(source, seen);
    uint64_t bytes = moves ? mt_status_bytes(seen) : 0;
    int32_t peer = moves ? seen->MPI_SOURCE : MT_PEER_PROC_NULL;
    if (moves)
        s->thread->open->count = (uint32_t)seen->MPI_TAG;
    mt_book(s, mt_span_key(s, moves ? MT_DIR_RECV : MT_DIR_NONE, comm, peer, bytes), bytes);
}

// Records the receive half of a Sendrecv without a time, since the send half has it.
static void book_received_half(const mt_span *s, uint32_t comm, int source, const MPI_Status *seen, uint32_t request)
{
    if (!is_message(source, seen))
        return;
    uint64_t bytes = mt_status_bytes(seen);
    mt_book_message(s->thread, mt_span_key(s, MT_DIR_RECV_POSTED, comm, seen->MPI_SOURCE, bytes), bytes, seen->MPI_TAG,
                   request);
}

static void book_aside(const mt_span *s, unsigned direction, const mt_comm *comm, int32_t peer, int32_t tag,
                       uint32_t request)
{
    if (peer != MT_PEER_PROC_NULL)
        mt_book_message(s->thread, mt_span_key(s, direction, comm->index, peer, 0), 0, tag, request);
}

// Returns the source argument of a receive from its peer as in a row.
static int source_of(int32_t peer)
{
    return peer >= 0 ? peer : peer == MT_PEER_PROC_NULL ? MPI_PROC_NULL : MPI_ANY_SOURCE;
}

// Returns the communicator of the thread's current call, which has valid arguments.
static mt_comm *comm_of_call(const mt_call *c, const mt_current_call *o)
{
    if (c->pending & MT_PENDING_COMM)
        return mt_comm_of(c->span.thread, c->comm);
    mt_comm *comm = mt_comm_by_index(o->comm);
    return comm ? comm : mt_comm_none();
}

// A communicator that is known without asking the MPI; else mt_comm_none(). The arguments of
// a call that failed may be invalid.
static const mt_comm *known_comm_of_call(const mt_call *c, const mt_current_call *o)
{
    const mt_comm *comm = c->pending & MT_PENDING_COMM ? NULL : mt_comm_by_index(o->comm);
    return comm ? comm : mt_comm_none();
}

// Reports whether a peer that was passed to a call may be a rank of the communicator.
static bool is_possible(const mt_comm *comm, int32_t peer)
{
    return peer == MT_PEER_ANY_SOURCE || (peer >= 0 && (comm->index == MT_COMM_NONE || peer < comm->peers));
}

// Records that a receive failed. MPI_ERR_TRUNCATE means that its message did not fit and is
// lost. It also means that the arguments were valid, so they may be looked up. Other errors
// do not tell whether the receive took a message. `request` is the number of the probe that
// found the message, or 0.
static void book_failed_receive(const mt_span *s, bool truncated, const mt_comm *comm, int32_t posted,
                                const MPI_Status *seen, uint32_t request)
{
    if (truncated)
        book_aside(s, MT_DIR_TRUNCATED, comm, mt_failed_source(comm, posted, seen), mt_failed_tag(posted, seen),
                   request);
    else if (is_possible(comm, posted))
        book_aside(s, MT_DIR_FAILED, comm, posted, MT_EVENT_NO_TAG, request);
}

static bool is_truncated(int rc)
{
    return mt_error_class(rc) == MPI_ERR_TRUNCATE;
}

int mt_end_recv(mt_call *c, int rc, const MPI_Status *seen)
{
    mt_span *s = &c->span;
    if (!s->thread)
        return rc;
    mt_call_resume(c);
    const mt_current_call o = *s->thread->open;
    if (rc == MPI_SUCCESS) {
        mt_close(s);
        uint32_t comm = c->pending & MT_PENDING_COMM ? mt_comm_index(s->thread, c->comm) : o.comm;
        book_received(s, comm, source_of(o.peer), seen);
    } else {
        mt_book_bare(s);
        bool truncated = is_truncated(rc);
        book_failed_receive(s, truncated, truncated ? comm_of_call(c, &o) : known_comm_of_call(c, &o), o.peer, seen, 0);
    }
    return rc;
}

int mt_end_as_written(mt_thread *t)
{
    mt_current_call *o = t->open;
    uint64_t ticks = mt_path_close(MT_CACHED, o), bytes = mt_read(&o->bytes);
    return mt_path_book(MT_CACHED, t, o, mt_path_key(o, bytes), bytes, ticks);
}

int mt_end_unusual_recv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen)
{
    mt_call c = {.span = {.thread = t, .call = (uint16_t)call, .frame = frame}};
    return mt_end_recv(&c, rc, seen);
}

// Records the halves of a Sendrecv that failed. MPIs check all arguments first, then post the
// receive and send, and then wait for both. So the send was started if a message
// arrived for the receive: if the error is MPI_ERR_TRUNCATE, or the status has a source. The
// latter is not certain, since the status may be one that an earlier call has set.
static void book_failed_halves(mt_call *c, const mt_current_call *o, int rc, const MPI_Status *seen)
{
    const mt_span *s = &c->span;
    bool truncated = is_truncated(rc);
    const mt_comm *comm = truncated ? comm_of_call(c, o) : known_comm_of_call(c, o);
    uint64_t bytes = o->bytes;
    if (truncated && c->pending & MT_PENDING_BYTES)
        bytes = mt_data_bytes(s->thread, c->count, c->type);
    bool met = truncated || (seen->MPI_SOURCE >= 0 && seen->MPI_SOURCE < comm->peers &&
                             (o->source == MT_PEER_ANY_SOURCE || o->source == seen->MPI_SOURCE));
    book_failed_receive(s, truncated, comm, o->source, seen, 0);
    if (o->peer < 0 || !is_possible(comm, o->peer))
        return;
    if (!met || bytes == MT_OPEN_BYTES_UNKNOWN) {
        book_aside(s, MT_DIR_SEND_FAILED, comm, o->peer, (int32_t)o->count, 0);
        return;
    }
    mt_book_message(s->thread, mt_span_key(s, MT_DIR_SEND_POSTED, comm->index, o->peer, bytes), bytes,
                    (int32_t)o->count, 0);
    if (!truncated) // this is not a message, so it has no event
        mt_book_untimed(s->thread, mt_span_key(s, MT_DIR_SEND_DOUBTFUL, comm->index, o->peer, bytes), bytes);
}

int mt_end_sendrecv(mt_call *c, int rc, const MPI_Status *seen)
{
    mt_span *s = &c->span;
    if (!s->thread)
        return rc;
    mt_call_resume(c);
    const mt_current_call o = *s->thread->open;
    uint32_t request = rc == MPI_SUCCESS ? mt_trace_request(s->thread) : 0;
    mt_end(c, rc);
    if (rc == MPI_SUCCESS)
        book_received_half(s, comm_of_call(c, &o)->index, source_of(o.source), seen, request);
    else
        book_failed_halves(c, &o, rc, seen);
    return rc;
}

int mt_end_unusual_sendrecv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen)
{
    mt_call c = {.span = {.thread = t, .call = (uint16_t)call, .frame = frame}};
    return mt_end_sendrecv(&c, rc, seen);
}

// Reports whether the receive that a recorded call posted is to be followed. A receive from
// MPI_PROC_NULL completes at once, and its handle may be shared.
static bool is_followed(int rc, int32_t source)
{
    return rc == MPI_SUCCESS && source != MT_PEER_PROC_NULL && !mt_process.receives_unfollowed;
}

void mt_follow_receive(const mt_current_call *o, MPI_Request request, uint32_t number)
{
    mt_comm *comm = mt_comm_by_index(o->comm);
    mt_request_add_receive(o->site, o->slice, o->call, comm ? comm : mt_comm_none(), o->peer, request, number);
}

int mt_end_irecv(mt_call *c, int rc, MPI_Request *request)
{
    mt_span *s = &c->span;
    if (!s->thread)
        return rc;
    mt_call_resume(c);
    const mt_current_call o = *s->thread->open;
    bool follow = is_followed(rc, o.peer);
    uint32_t number = follow ? mt_trace_request(s->thread) : 0;
    mt_end(c, rc);
    if (follow) {
        mt_request_add_receive(s->site, s->slice, s->call, comm_of_call(c, &o), o.peer, *request, number);
        mt_request_added();
    }
    return rc;
}

// MPICH (seen in 4.0 and 5.0) does not set the status of an Isendrecv: it returns what an
// earlier request left there.
#ifdef OPEN_MPI
enum { ISENDRECV = MT_RECEIVE };
#else
enum { ISENDRECV = MT_RECEIVE_NO_STATUS };
#endif

int mt_end_isendrecv(mt_call *c, int rc, MPI_Request *request)
{
    mt_span *s = &c->span;
    if (!s->thread)
        return rc;
    mt_call_resume(c);
    const mt_current_call o = *s->thread->open;
    bool follow = is_followed(rc, o.source);
    uint32_t number = follow ? mt_trace_request(s->thread) : 0;
    mt_end(c, rc);
    if (follow) {
        mt_request_posted(s, *request, (mt_request_kind)ISENDRECV, comm_of_call(c, &o), o.source, number);
        mt_request_added();
    }
    return rc;
}

// Records that the receive of a matched message failed. If the handle is still there, the
// program may receive the message with it later. (MPICH leaves it also if the message is
// gone.)
static void end_failed_mrecv(mt_call *c, bool truncated, const MPI_Status *seen)
{
    mt_request *m = &c->matched;
    if (!truncated && *c->message != mt_const.message_null)
        mt_table_put_failed(&mt_objects.messages, m);
    else if (c->span.thread)
        book_failed_receive(&c->span, truncated, m->comm, m->peer, seen, mt_traced() ? m->number : 0);
}

int mt_end_mrecv(mt_call *c, int rc, const MPI_Status *seen)
{
    mt_span *s = &c->span;
    const mt_request *m = &c->matched;
    if (s->thread && (rc != MPI_SUCCESS || !m->key))
        mt_book_bare(s);
    if (rc != MPI_SUCCESS && m->key)
        end_failed_mrecv(c, is_truncated(rc), seen);
    if (!s->thread || rc != MPI_SUCCESS || !m->key)
        return rc;
    mt_close(s);
    s->thread->request_number = mt_traced() ? m->number : 0; // of the probe that found it
    book_received(s, m->comm->index, MPI_ANY_SOURCE, seen);
    return rc;
}

int mt_end_imrecv(mt_call *c, int rc, const MPI_Request *request)
{
    mt_span *s = &c->span;
    const mt_request *m = &c->matched;
    if (s->thread && (rc != MPI_SUCCESS || !m->key))
        mt_book_bare(s);
    if (rc != MPI_SUCCESS && m->key)
        end_failed_mrecv(c, false, NULL);
    if (!s->thread || rc != MPI_SUCCESS || !m->key)
        return rc;
    mt_close(s);
    s->thread->request_number = mt_traced() ? m->number : 0; // of the probe that found it
    mt_book(s, mt_span_key(s, MT_DIR_NONE, m->comm->index, m->peer, 0), 0);
    if (mt_process.receives_unfollowed)
        return rc;
    mt_request_add_receive(s->site, s->slice, s->call, m->comm, m->peer, *request, m->number);
    mt_request_added();
    return rc;
}

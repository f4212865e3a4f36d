// The policies of policy.h on the general path, and those of calls that are made less often.
#include "calls/policy.h"

#include "record/current_call.h"
#include "record/trace.h"
#include "objects/status.h"

#include <stdlib.h>

// --- Before the call.

void mt_begin_probe(mt_call *c, MPI_Comm comm, int peer, int tag)
{
    mt_path_begin_probe(MT_GENERAL, c, comm, peer, tag);
}

void mt_begin_send(mt_call *c, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int tag)
{
    mt_path_begin_send(MT_GENERAL, c, comm, dest, count, type, tag);
}

void mt_begin_recv(mt_call *c, MPI_Comm comm, int source, int64_t count, MPI_Datatype type, int tag)
{
    mt_path_begin_recv(MT_GENERAL, c, comm, source, count, type, tag);
}

void mt_begin_sendrecv(mt_call *c, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source, int tag)
{
    mt_path_begin_sendrecv(MT_GENERAL, c, comm, dest, count, type, source, tag);
}

void mt_begin_coll(mt_call *c, MPI_Comm comm, mt_volume volume)
{
    if (c->span.thread)
        mt_comm_known(c->span.thread, comm); // so that it is in the thread's cache, if it is known
    mt_path_begin_coll(MT_GENERAL, c, comm, volume);
}

void mt_begin_rma(mt_call *c, MPI_Win win, int target, unsigned direction, int64_t count, MPI_Datatype type)
{
    mt_path_begin_rma(MT_GENERAL, c, win, target, direction, count, type);
}

void mt_begin_rma_both(mt_call *c, MPI_Win win, int target, MPI_Op op, int64_t written, MPI_Datatype written_type,
                       int64_t read, MPI_Datatype read_type)
{
    if (op == mt_const.op_no_op)
        mt_begin_rma(c, win, target, MT_DIR_READ, read, read_type);
    else
        mt_begin_rma(c, win, target, MT_DIR_WRITE, written, written_type);
}

void mt_begin_win(mt_call *c, MPI_Win win, int rank, uint32_t lock)
{
    mt_path_begin_win(MT_GENERAL, c, win, rank, lock);
}

void mt_begin_win_lock(mt_call *c, MPI_Win win, int rank, int type)
{
    mt_begin_win(c, win, rank, type == MPI_LOCK_EXCLUSIVE ? MT_LOCK_EXCLUSIVE : MT_LOCK_SHARED);
}

void mt_begin_count(mt_call *c, int count)
{
    mt_path_begin_count(MT_GENERAL, c, count);
}

void mt_begin_io(mt_call *c, unsigned direction, int64_t count, MPI_Datatype type)
{
    uint64_t bytes;
    if (!c->span.thread)
        return;
    mt_path_bytes(MT_GENERAL, c, count, type, &bytes);
    mt_path_write(MT_GENERAL, c, direction, MT_COMM_NONE, MT_PEER_NONE, bytes);
}

void mt_begin_comm(mt_call *c, MPI_Comm comm)
{
    uint32_t index;
    if (!c->span.thread)
        return;
    mt_path_comm(MT_GENERAL, c, comm, &index);
    mt_path_write(MT_GENERAL, c, MT_DIR_NONE, index, MT_PEER_NONE, 0);
}

void mt_begin_known_comm(mt_call *c, const mt_comm *comm, int32_t peer)
{
    if (c->span.thread)
        mt_path_write(MT_GENERAL, c, MT_DIR_NONE, comm ? comm->index : MT_COMM_NONE, peer, 0);
}

// Takes the entry of a matched message. MPI_MESSAGE_NO_PROC has none.
static void take_message(mt_call *c, const MPI_Message *message)
{
    c->matched = (mt_request){0};
    c->message = message;
    if (mt_on() && message)
        mt_table_take(&mt_objects.messages, MT_KEY(*message), &c->matched);
}

void mt_begin_mrecv(mt_call *c, const MPI_Message *message, int64_t count, MPI_Datatype type)
{
    uint64_t room;
    take_message(c, message);
    if (!c->span.thread)
        return;
    const mt_comm *comm = c->matched.comm;
    mt_path_bytes(MT_GENERAL, c, count, type, &room);
    mt_path_write(MT_GENERAL, c, MT_DIR_RECV, comm ? comm->index : MT_COMM_NONE, c->matched.peer, room);
}

void mt_begin_imrecv(mt_call *c, const MPI_Message *message)
{
    take_message(c, message);
    mt_begin_known_comm(c, c->matched.comm, c->matched.peer);
}

// Does not read the arrays of counts: the arguments are not checked yet, and may be
// invalid.
void mt_begin_volume(mt_call *c, MPI_Comm comm, const mt_volume *v)
{
    const mt_comm *known = mt_comm_known(c->span.thread, comm);
    uint32_t index = known ? known->index : MT_COMM_NONE;
    bool rooted = v->shape == MT_SHAPE_FROM_ROOT || v->shape == MT_SHAPE_TO_ROOT;
    bool counted = !v->vector && v->shape != MT_SHAPE_BLOCK;
    int32_t peer = rooted ? mt_root_peer(v->root) : MT_PEER_NONE;
    bool root = peer == MT_PEER_ROOT || (known && !(known->flags & MT_COMM_INTER) && v->root == known->rank);
    uint64_t bytes = MT_OPEN_BYTES_UNKNOWN;
    if (rooted && (v->shape == MT_SHAPE_FROM_ROOT ? !root : root || v->root == MPI_PROC_NULL)) {
        mt_path_write(MT_GENERAL, c, MT_DIR_NONE, index, peer, 0);
    } else {
        if (counted)
            mt_path_bytes(MT_GENERAL, c, v->count, v->type, &bytes);
        mt_path_write(MT_GENERAL, c, MT_DIR_SEND, index, peer, bytes);
    }
    c->pending |= MT_PENDING_VOLUME;
    c->comm = comm;
    c->volume = *v;
}

// --- After the call.

static void remember_persistent(const mt_span *s, MPI_Comm comm, mt_request_kind kind, int peer, int64_t count,
                                MPI_Datatype type, int32_t tag, MPI_Request request)
{
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (!t || request == mt_const.request_null)
        return;
    uint64_t bytes = peer >= 0 ? mt_data_bytes(t, count, type) : 0;
    mt_request e = {.key = MT_KEY(request), .site = s->site, .comm = mt_comm_of(t, comm), .bytes = bytes,
                    .peer = mt_peer(peer), .call = s->call, .kind = (uint8_t)kind, .tag = tag};
    mt_table_put(&mt_objects.requests, &e);
    mt_request_added();
}

static void remember_message(const mt_span *s, MPI_Comm comm, int source, MPI_Message message, uint32_t number)
{
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (!t || message == mt_const.message_null || message == mt_const.message_no_proc)
        return;
    mt_request e = {.key = MT_KEY(message), .site = s->site, .comm = mt_comm_of(t, comm), .peer = mt_peer(source),
                    .slice = s->slice, .call = s->call, .number = number};
    mt_message_add(&e);
    mt_request_added();
}

int mt_end_operation(mt_call *c, int rc, MPI_Request *request)
{
    if (c->span.thread && rc == MPI_SUCCESS)
        mt_request_add_operation(c->span.thread, *request);
    return mt_end(c, rc);
}

int mt_end_isend(mt_call *c, int rc, MPI_Request *request)
{
    if (!c->span.thread)
        return rc;
    mt_call_resume(c);
    if (c->span.thread->open->peer == MT_PEER_PROC_NULL)
        return mt_end(c, rc);
    return mt_end_operation(c, rc, request);
}

// Returns the tag that was passed to the current call.
static int32_t tag_of(const mt_call *c)
{
    return c->span.thread ? (int32_t)c->span.thread->open->count : MT_EVENT_NO_TAG;
}

int mt_end_send_init(mt_call *c, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                     MPI_Request *request)
{
    int32_t tag = tag_of(c);
    mt_end(c, rc);
    if (rc == MPI_SUCCESS && mt_on())
        remember_persistent(&c->span, comm, MT_PERSISTENT_SEND, dest, count, type, tag, *request);
    return rc;
}

int mt_end_recv_init(mt_call *c, int rc, MPI_Comm comm, int source, MPI_Request *request)
{
    int32_t tag = tag_of(c);
    mt_end(c, rc);
    if (rc == MPI_SUCCESS && mt_on())
        remember_persistent(&c->span, comm, MT_PERSISTENT_RECEIVE, source, 0, mt_const.datatype_null, tag, *request);
    return rc;
}

int mt_end_mprobe(mt_call *c, int rc, MPI_Comm comm, int source, const int *flag, MPI_Message *message)
{
    bool found = rc == MPI_SUCCESS && (!flag || *flag);
    uint32_t number = found && c->span.thread ? mt_trace_request(c->span.thread) : 0;
    mt_end(c, rc);
    if (found && mt_on())
        remember_message(&c->span, comm, source, *message, number);
    return rc;
}

int mt_end_coll_init(mt_call *c, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request)
{
    mt_span *s = &c->span;
    if (s->thread && rc == MPI_SUCCESS) { // the messages are recorded at each start
        mt_call_resume(c);
        mt_close(s);
        mt_book(s, mt_span_key(s, MT_DIR_NONE, mt_comm_index(s->thread, comm), MT_PEER_NONE, 0), 0);
    } else {
        mt_end(c, rc);
    }
    if (rc == MPI_SUCCESS && mt_on()) {
        mt_volume_persistent(&c->span, comm, &volume, *request);
        mt_request_added();
    }
    return rc;
}

int mt_end_rma_both(mt_call *c, int rc, MPI_Win win, int target, MPI_Op op, int64_t read, MPI_Datatype read_type)
{
    mt_thread *t = c->span.thread;
    mt_end(c, rc);
    if (!t || rc != MPI_SUCCESS || op == mt_const.op_no_op || target < 0)
        return rc;
    uint64_t bytes = mt_data_bytes(t, read, read_type);
    const mt_win_cached *w = mt_win_of(t, win);
    mt_book_message(t, mt_span_key(&c->span, MT_DIR_READ_POSTED, w->comm->index, target, bytes), bytes,
                    (int32_t)mt_win_tag(w->number, 0), 0);
    return rc;
}

// The event of a traced call has the group.
int mt_end_win_group(mt_call *c, int rc, MPI_Win win, MPI_Group group)
{
    mt_span *s = &c->span;
    if (!s->thread || rc != MPI_SUCCESS || !mt_traced())
        return mt_end(c, rc);
    mt_call_resume(c);
    mt_close(s);
    const mt_win_cached *w = mt_win_of(s->thread, win);
    s->thread->open->count = mt_win_tag(w->number, mt_win_group(group));
    mt_book(s, mt_span_key(s, MT_DIR_NONE, w->comm->index, MT_PEER_NONE, 0), 0);
    return rc;
}

int mt_end_win_made(mt_call *c, int rc, MPI_Comm comm, MPI_Win *win)
{
    mt_span *s = &c->span;
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (s->thread)
        mt_close(s);
    uint32_t number = rc == MPI_SUCCESS && t && mt_on() ? mt_win_created(t, comm, *win) : 0;
    if (!s->thread)
        return rc;
    s->thread->open->count = mt_win_tag(number, 0);
    uint32_t index = rc == MPI_SUCCESS ? mt_comm_index(s->thread, comm) : MT_COMM_NONE;
    mt_book(s, mt_span_key(s, MT_DIR_NONE, index, MT_PEER_NONE, 0), 0);
    return rc;
}

int mt_end_commit(mt_call *c, int rc, const MPI_Datatype *type)
{
    mt_end(c, rc);
    if (c->span.thread && rc == MPI_SUCCESS)
        mt_type_find(c->span.thread, *type);
    return rc;
}

int mt_end_callback(mt_call *c, int rc)
{
    atomic_store_explicit(&mt_objects.callbacks, true, memory_order_relaxed);
    return mt_end(c, rc);
}

int mt_end_comm(mt_call *c, int rc, MPI_Comm parent, MPI_Comm *made)
{
    mt_end(c, rc);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_created(parent, *made, c->span.call, c->span.site);
    return rc;
}

// Records a constructor that only the new members call. Who they are is known from the new
// communicator, so the event of a traced call names it.
static int end_by_members(mt_call *c, int rc, uint32_t index, const mt_comm *made)
{
    mt_span *s = &c->span;
    if (!s->thread)
        return rc;
    s->thread->open->count = made && made->index != MT_COMM_NONE ? made->index + 1 : 0;
    mt_book(s, mt_span_key(s, MT_DIR_NONE, index, MT_PEER_NONE, 0), 0);
    return rc;
}

int mt_end_comm_group(mt_call *c, int rc, MPI_Comm parent, int tag, MPI_Comm *made)
{
    mt_span *s = &c->span;
    if (s->thread)
        mt_close(s);
    const mt_comm *known = NULL;
    if (rc == MPI_SUCCESS && mt_on())
        known = mt_comm_created_by_members(parent, tag, *made, s->call, s->site);
    return end_by_members(c, rc, s->thread && rc == MPI_SUCCESS ? mt_comm_index(s->thread, parent) : MT_COMM_NONE,
                          known);
}

int mt_end_comm_from_group(mt_call *c, int rc, const char *tag, MPI_Comm *made)
{
    mt_span *s = &c->span;
    if (s->thread)
        mt_close(s);
    const mt_comm *known = NULL;
    if (rc == MPI_SUCCESS && mt_on())
        known = mt_comm_created_from_group(tag, *made, s->call, s->site);
    return end_by_members(c, rc, MT_COMM_NONE, known);
}

int mt_end_comm_name(mt_call *c, int rc, MPI_Comm comm, const char *name)
{
    mt_end(c, rc);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_set_name(comm, name);
    return rc;
}

int mt_end_start(mt_call *c, int rc, MPI_Request *request)
{
    if (rc != MPI_SUCCESS)
        return mt_end(c, rc);
    if (c->span.thread)
        mt_close(&c->span);
    if (mt_on())
        mt_request_started(&c->span, *request, true);
    return rc;
}

int mt_end_startall(mt_call *c, int rc, int count, MPI_Request requests[])
{
    mt_end(c, rc);
    if (rc != MPI_SUCCESS || !mt_on())
        return rc;
    for (int i = 0; i < count; i++)
        mt_request_started(&c->span, requests[i], false);
    return rc;
}

int mt_end_comm_idup(mt_call *c, int rc, MPI_Comm parent, MPI_Comm *made, MPI_Request *request)
{
    uint32_t number = c->span.thread && rc == MPI_SUCCESS ? mt_trace_request(c->span.thread) : 0;
    mt_end(c, rc);
    if (rc != MPI_SUCCESS || !mt_on())
        return rc;
    mt_request_idup *promise = malloc(sizeof *promise);
    if (!promise) {
        mt_count_lost(&mt_process.header->lost_comms, 1);
        return rc;
    }
    *promise = (mt_request_idup){mt_comm_idup_started(parent, c->span.call, c->span.site), *made,
                                *made == mt_const.comm_null ? made : NULL};
    mt_request e = {.key = MT_KEY(*request), .extra = promise, .kind = MT_NEW_COMM, .number = number};
    mt_table_put(&mt_objects.requests, &e);
    mt_request_added();
    return rc;
}

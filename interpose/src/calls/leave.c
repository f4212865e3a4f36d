// The policies of leave.h.
#include "calls/leave.h"

#include "record/current_call.h"
#include "record/sample.h"
#include "record/trace.h"
#include "objects/status.h"

#include <stdlib.h>

bool mt_is_bookable(mt_span *s, int rc)
{
    if (mt_likely(s->thread && rc == MPI_SUCCESS))
        return true;
    if (s->thread)
        mt_book_bare(s);
    return false;
}

void mt_leave_call(mt_span *s, int rc)
{
    (void)rc;
    if (s->thread)
        mt_book_bare(s);
}

void mt_leave_commit(mt_span *s, int rc, const MPI_Datatype *type)
{
    mt_leave_call(s, rc);
    if (s->thread && rc == MPI_SUCCESS)
        mt_type_find(s->thread, *type);
}

void mt_leave_callback(mt_span *s, int rc)
{
    atomic_store_explicit(&mt_objects.callbacks, true, memory_order_relaxed);
    mt_leave_call(s, rc);
}

static void remember_persistent(const mt_span *s, MPI_Comm comm, mt_request_kind kind, int peer, int64_t count,
                                MPI_Datatype type, int32_t tag, MPI_Request request)
{
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (!t || request == mt_const.request_null)
        return;
    uint64_t bytes = peer >= 0 ? mt_data_bytes(t, count, type) : 0;
    mt_request e = {.key = MT_KEY(request), .site = s->site, .comm = mt_comm_of(t, comm), .bytes = bytes,
                    .peer = mt_peer(peer), .call = s->call, .kind = (uint8_t)kind, .tag = tag};
    mt_table_put(&mt_requests, &e);
    mt_request_added();
}

static void remember_message(const mt_span *s, MPI_Comm comm, int source, MPI_Message message, uint32_t number)
{
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (!t || message == mt_const.message_null || message == mt_const.message_no_proc)
        return;
    mt_request e = {.key = MT_KEY(message), .site = s->site, .comm = mt_comm_of(t, comm), .peer = mt_peer(source),
                    .slice = s->slice, .call = s->call, .number = number};
    mt_table_put(&mt_messages, &e);
    mt_request_added();
}

static bool is_message(int source, const MPI_Status *seen)
{
    return source != MPI_PROC_NULL && seen->MPI_SOURCE >= 0;
}

void mt_book_received(mt_span *s, uint32_t comm, int source, const MPI_Status *seen)
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

static void book_aside(const mt_span *s, unsigned direction, const mt_comm *c, int32_t peer, int32_t tag,
                       uint32_t request)
{
    if (peer != MT_PEER_PROC_NULL)
        mt_book_message(s->thread, mt_span_key(s, direction, c->index, peer, 0), 0, tag, request);
}

bool mt_is_truncated(const mt_span *s, int rc)
{
    return s->thread && rc != MPI_SUCCESS && mt_error_class(rc) == MPI_ERR_TRUNCATE;
}

void mt_book_truncated(const mt_span *s, const mt_comm *c, int32_t posted, const MPI_Status *seen, uint32_t request)
{
    book_aside(s, MT_DIR_TRUNCATED, c, mt_failed_source(c, posted, seen), mt_failed_tag(posted, seen), request);
}

void mt_leave_send(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type)
{
    if (!mt_is_bookable(s, rc))
        return;
    mt_close(s);
    bool moves = dest >= 0;
    uint64_t bytes = moves ? mt_data_bytes(s->thread, count, type) : 0;
    mt_book(s, mt_span_key(s, moves ? MT_DIR_SEND : MT_DIR_NONE, mt_comm_index(s->thread, comm), mt_peer(dest), bytes),
            bytes);
}

void mt_leave_probe(mt_span *s, int rc, MPI_Comm comm, int peer)
{
    if (!mt_is_bookable(s, rc))
        return;
    mt_close(s);
    mt_book(s, mt_span_key(s, MT_DIR_NONE, mt_comm_index(s->thread, comm), mt_peer(peer), 0), 0);
}

int mt_leave_quick_longest(mt_thread *t, mt_row *row, uint64_t ticks)
{
    mt_row_longest(row, ticks);
    mt_add(&row->count, 1);
    mt_current_call_clear(t->open);
    return MPI_SUCCESS;
}

int mt_leave_quick(mt_thread *t, uint64_t site, uint64_t place, uint64_t what, uint64_t bytes, uint64_t ticks)
{
    mt_row *row = mt_row_of(t, (mt_key){site, place, what});
    bool timed = t->open->start != 0;
    mt_add(&row->bytes, bytes);
    if (timed && !t->paces)
        mt_row_time(row, ticks);
    mt_add(&row->count, 1);
    if (t->paces)
        mt_sample_book(t, mt_sample_pace(t, site), row, timed, ticks);
    if (mt_traced())
        mt_trace_call(t, row, t->open->call, ticks, bytes);
    mt_current_call_clear(t->open);
    return MPI_SUCCESS;
}

// Returns the span of a quick call. Restores the thread's current call if another one
// replaced it.
static mt_span quick_span(mt_thread *t, unsigned call, uint64_t frame)
{
    const mt_current_call *o = t->open;
    if (t->frame != frame)
        mt_current_call_restore(t, call, frame);
    return (mt_span){.thread = t, .start = o->start, .site = o->site, .frame = t->frame, .slice = o->slice,
                     .call = o->call, .timed = o->start != 0};
}

// Records a call as the thread's current call describes it.
static void book_line(mt_span *s)
{
    const mt_current_call *o = s->thread->open;
    uint64_t bytes = o->bytes;
    mt_close(s);
    mt_book(s, (mt_key){o->site, o->place, o->what | (uint64_t)mt_size_class(bytes) << 56}, bytes);
}

int mt_leave_quick_oddly(mt_thread *t, unsigned call, uint64_t frame, int rc)
{
    mt_span s = quick_span(t, call, frame);
    if (rc == MPI_SUCCESS)
        book_line(&s);
    else
        mt_book_bare(&s);
    return rc;
}

static void book_quick_truncated(const mt_span *s, const mt_current_call *o, int32_t posted, const MPI_Status *seen)
{
    const mt_comm *c = mt_comm_by_index(o->comm);
    mt_book_truncated(s, c ? c : mt_comm_none(), posted, seen, 0);
}

// Returns the source argument of a receive from its peer as in a row.
static int source_of(int32_t peer)
{
    return peer >= 0 ? peer : peer == MT_PEER_PROC_NULL ? MPI_PROC_NULL : MPI_ANY_SOURCE;
}

int mt_leave_quick_recv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen)
{
    mt_span s = quick_span(t, call, frame);
    const mt_current_call o = *t->open;
    if (rc == MPI_SUCCESS) {
        mt_close(&s);
        mt_book_received(&s, o.comm, source_of(o.peer), seen);
    } else {
        mt_book_bare(&s);
        if (mt_is_truncated(&s, rc))
            book_quick_truncated(&s, &o, o.peer, seen);
    }
    return rc;
}

int mt_leave_quick_sendrecv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen)
{
    mt_span s = quick_span(t, call, frame);
    const mt_current_call o = *t->open;
    if (rc == MPI_SUCCESS) {
        uint32_t request = mt_trace_request(t);
        book_line(&s);
        book_received_half(&s, o.comm, source_of(o.source), seen, request);
        return rc;
    }
    mt_book_bare(&s);
    if (mt_is_truncated(&s, rc)) {
        const mt_comm *c = mt_comm_by_index(o.comm);
        book_quick_truncated(&s, &o, o.source, seen);
        book_aside(&s, MT_DIR_SEND_FAILED, c ? c : mt_comm_none(), o.peer, (int32_t)o.count, 0);
    }
    return rc;
}

void mt_leave_recv(mt_span *s, int rc, MPI_Comm comm, int source, const MPI_Status *seen)
{
    if (mt_is_bookable(s, rc)) {
        mt_close(s);
        mt_book_received(s, mt_comm_index(s->thread, comm), source, seen);
    } else if (mt_is_truncated(s, rc)) {
        mt_book_truncated(s, mt_comm_of(s->thread, comm), mt_peer(source), seen, 0);
    }
}

void mt_leave_sendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source,
                       const MPI_Status *seen)
{
    bool done = s->thread && rc == MPI_SUCCESS;
    uint32_t request = done ? mt_trace_request(s->thread) : 0;
    int32_t tag = s->thread ? (int32_t)s->thread->open->count : MT_EVENT_NO_TAG;
    mt_leave_send(s, rc, comm, dest, count, type);
    if (done) {
        book_received_half(s, mt_comm_index(s->thread, comm), source, seen, request);
    } else if (mt_is_truncated(s, rc)) {
        mt_comm *c = mt_comm_of(s->thread, comm);
        mt_book_truncated(s, c, mt_peer(source), seen, 0);
        book_aside(s, MT_DIR_SEND_FAILED, c, mt_peer(dest), tag, 0);
    }
}

void mt_leave_irecv(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request)
{
    // A receive from MPI_PROC_NULL completes at once, and its handle may be shared.
    bool follow = s->thread && rc == MPI_SUCCESS && source != MPI_PROC_NULL && !mt_process.receives_unfollowed;
    uint32_t number = follow ? mt_trace_request(s->thread) : 0;
    mt_leave_probe(s, rc, comm, source);
    if (!follow)
        return;
    mt_request_add_receive(s->site, s->slice, s->call, mt_comm_of(s->thread, comm), mt_peer(source), *request, number);
    mt_request_added();
}

void mt_leave_isend(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                    MPI_Request *request)
{
    if (s->thread && rc == MPI_SUCCESS && dest != MPI_PROC_NULL)
        mt_request_add_operation(s->thread, *request);
    mt_leave_send(s, rc, comm, dest, count, type);
}

void mt_leave_coll(mt_span *s, int rc, MPI_Comm comm, mt_volume volume)
{
    if (!mt_is_bookable(s, rc))
        return;
    mt_close(s);
    mt_volume_book(s, comm, &volume);
}

void mt_leave_icoll(mt_span *s, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request)
{
    if (s->thread && rc == MPI_SUCCESS)
        mt_request_add_operation(s->thread, *request);
    mt_leave_coll(s, rc, comm, volume);
}

// MPICH (seen in 4.0 and 5.0) does not set the status of an Isendrecv: it returns what an
// earlier request left there.
#ifdef OPEN_MPI
enum { ISENDRECV = MT_RECEIVE };
#else
enum { ISENDRECV = MT_RECEIVE_NO_STATUS };
#endif

void mt_leave_isendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source,
                        MPI_Request *request)
{
    bool follow = s->thread && rc == MPI_SUCCESS && source != MPI_PROC_NULL && !mt_process.receives_unfollowed;
    uint32_t number = follow ? mt_trace_request(s->thread) : 0;
    mt_leave_send(s, rc, comm, dest, count, type);
    if (!follow)
        return;
    mt_request_posted(s, *request, (mt_request_kind)ISENDRECV, mt_comm_of(s->thread, comm), mt_peer(source), number);
    mt_request_added();
}

// Returns the tag that was passed to the current call.
static int32_t tag_of(const mt_span *s)
{
    return s->thread ? (int32_t)s->thread->open->count : MT_EVENT_NO_TAG;
}

void mt_leave_send_init(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                        MPI_Request *request)
{
    int32_t tag = tag_of(s);
    mt_leave_probe(s, rc, comm, dest);
    if (rc == MPI_SUCCESS && mt_on())
        remember_persistent(s, comm, MT_PERSISTENT_SEND, dest, count, type, tag, *request);
}

void mt_leave_recv_init(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request)
{
    int32_t tag = tag_of(s);
    mt_leave_probe(s, rc, comm, source);
    if (rc == MPI_SUCCESS && mt_on())
        remember_persistent(s, comm, MT_PERSISTENT_RECEIVE, source, 0, mt_const.datatype_null, tag, *request);
}

void mt_leave_mprobe(mt_span *s, int rc, MPI_Comm comm, int source, const int *flag, MPI_Message *message)
{
    bool found = rc == MPI_SUCCESS && (!flag || *flag);
    uint32_t number = found && s->thread ? mt_trace_request(s->thread) : 0;
    mt_leave_probe(s, rc, comm, source);
    if (found && mt_on())
        remember_message(s, comm, source, *message, number);
}

void mt_leave_coll_init(mt_span *s, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request)
{
    mt_leave_probe(s, rc, comm, MT_NO_RANK);
    if (rc != MPI_SUCCESS || !mt_on())
        return;
    mt_volume_persistent(s, comm, &volume, *request);
    mt_request_added();
}

// Returns the index of the communicator whose group is the window's, for a call that is
// closed. For a trace it also sets the tag of the call's event to the window's number and a
// detail.
static uint32_t window_of(const mt_span *s, MPI_Win win, uint32_t detail)
{
    const mt_win_cached *w = mt_win_of(s->thread, win);
    s->thread->open->count = mt_win_tag(w->number, detail);
    return w->comm->index;
}

void mt_leave_rma(mt_span *s, int rc, MPI_Win win, int target, unsigned direction, int64_t count, MPI_Datatype type)
{
    if (!mt_is_bookable(s, rc))
        return;
    mt_close(s);
    uint64_t bytes = target >= 0 ? mt_data_bytes(s->thread, count, type) : 0;
    uint32_t comm = window_of(s, win, 0);
    mt_book(s, mt_span_key(s, target >= 0 ? direction : MT_DIR_NONE, comm, mt_peer(target), bytes), bytes);
}

void mt_leave_rma_both(mt_span *s, int rc, MPI_Win win, int target, MPI_Op op, int64_t written,
                       MPI_Datatype written_type, int64_t read, MPI_Datatype read_type)
{
    if (op == mt_const.op_no_op || target < 0) {
        mt_leave_rma(s, rc, win, target, MT_DIR_READ, read, read_type);
        return;
    }
    mt_leave_rma(s, rc, win, target, MT_DIR_WRITE, written, written_type);
    if (!s->thread || rc != MPI_SUCCESS)
        return;
    uint64_t bytes = mt_data_bytes(s->thread, read, read_type);
    const mt_win_cached *w = mt_win_of(s->thread, win);
    mt_book_message(s->thread, mt_span_key(s, MT_DIR_READ_POSTED, w->comm->index, target, bytes), bytes,
                   (int32_t)mt_win_tag(w->number, 0), 0);
}

static void book_win(mt_span *s, MPI_Win win, int rank, uint32_t detail)
{
    uint32_t comm = window_of(s, win, detail);
    mt_book(s, mt_span_key(s, MT_DIR_NONE, comm, mt_peer(rank), 0), 0);
}

void mt_leave_win(mt_span *s, int rc, MPI_Win win, int rank)
{
    if (!mt_is_bookable(s, rc))
        return;
    mt_close(s);
    book_win(s, win, rank, 0);
}

void mt_leave_win_lock(mt_span *s, int rc, MPI_Win win, int rank, int type)
{
    if (!mt_is_bookable(s, rc))
        return;
    mt_close(s);
    book_win(s, win, rank, type == MPI_LOCK_EXCLUSIVE ? MT_LOCK_EXCLUSIVE : MT_LOCK_SHARED);
}

void mt_leave_win_group(mt_span *s, int rc, MPI_Win win, MPI_Group group)
{
    if (!mt_is_bookable(s, rc))
        return;
    mt_close(s);
    book_win(s, win, MT_NO_RANK, mt_traced() ? mt_win_group(group) : 0);
}

void mt_leave_win_made(mt_span *s, int rc, MPI_Comm comm, MPI_Win *win)
{
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (s->thread)
        mt_close(s);
    uint32_t number = rc == MPI_SUCCESS && t && mt_on() ? mt_win_created(t, comm, *win) : 0;
    if (!s->thread)
        return;
    s->thread->open->count = mt_win_tag(number, 0);
    uint32_t index = rc == MPI_SUCCESS ? mt_comm_index(s->thread, comm) : MT_COMM_NONE;
    mt_book(s, mt_span_key(s, MT_DIR_NONE, index, MT_PEER_NONE, 0), 0);
}

void mt_leave_io(mt_span *s, int rc, unsigned direction, int64_t count, MPI_Datatype type)
{
    if (!mt_is_bookable(s, rc))
        return;
    mt_close(s);
    uint64_t bytes = mt_data_bytes(s->thread, count, type);
    mt_book(s, mt_span_key(s, direction, MT_COMM_NONE, MT_PEER_NONE, bytes), bytes);
}

// Records a call on a communicator, whose span is closed.
static void book_closed(mt_span *s, uint32_t index)
{
    mt_book(s, mt_span_key(s, MT_DIR_NONE, index, MT_PEER_NONE, 0), 0);
}

static void book_parent(mt_span *s, int rc, MPI_Comm comm)
{
    if (!s->thread)
        return;
    mt_close(s);
    book_closed(s, rc == MPI_SUCCESS ? mt_comm_of(s->thread, comm)->index : MT_COMM_NONE);
}

// Records a constructor that only the new members call. Who they are is known from the new
// communicator, so the event of a traced call names it.
static void book_maker(mt_span *s, uint32_t index, const mt_comm *made)
{
    if (!s->thread)
        return;
    s->thread->open->count = made && made->index != MT_COMM_NONE ? made->index + 1 : 0;
    book_closed(s, index);
}

void mt_leave_comm(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made)
{
    book_parent(s, rc, parent);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_created(parent, *made, s->call, s->site);
}

void mt_leave_comm_group(mt_span *s, int rc, MPI_Comm parent, int tag, MPI_Comm *made)
{
    if (s->thread)
        mt_close(s);
    const mt_comm *c = NULL;
    if (rc == MPI_SUCCESS && mt_on())
        c = mt_comm_created_by_members(parent, tag, *made, s->call, s->site);
    book_maker(s, s->thread && rc == MPI_SUCCESS ? mt_comm_of(s->thread, parent)->index : MT_COMM_NONE, c);
}

void mt_leave_intercomm(mt_span *s, int rc, MPI_Comm local, int tag, MPI_Comm *made)
{
    mt_leave_comm_group(s, rc, local, tag, made);
}

void mt_leave_comm_name(mt_span *s, int rc, MPI_Comm comm, const char *name)
{
    book_parent(s, rc, comm);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_set_name(comm, name);
}

void mt_leave_start(mt_span *s, int rc, MPI_Request *request)
{
    if (rc != MPI_SUCCESS) {
        mt_leave_call(s, rc);
        return;
    }
    if (s->thread)
        mt_close(s);
    if (mt_on())
        mt_request_started(s, *request, true);
}

void mt_leave_startall(mt_span *s, int rc, int count, MPI_Request requests[])
{
    mt_leave_call(s, rc);
    if (rc != MPI_SUCCESS || !mt_on())
        return;
    for (int i = 0; i < count; i++)
        mt_request_started(s, requests[i], false);
}

void mt_leave_comm_from_group(mt_span *s, int rc, const char *tag, MPI_Comm *made)
{
    if (s->thread)
        mt_close(s);
    book_maker(s, MT_COMM_NONE,
               rc == MPI_SUCCESS && mt_on() ? mt_comm_created_from_group(tag, *made, s->call, s->site) : NULL);
}

void mt_leave_comm_idup(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made, MPI_Request *request)
{
    uint32_t number = s->thread && rc == MPI_SUCCESS ? mt_trace_request(s->thread) : 0;
    book_parent(s, rc, parent);
    if (rc != MPI_SUCCESS || !mt_on())
        return;
    mt_request_idup *promise = malloc(sizeof *promise);
    if (!promise) {
        mt_count_lost(&mt_process.header->lost_comms, 1);
        return;
    }
    *promise = (mt_request_idup){mt_comm_idup_started(parent, s->call, s->site), *made,
                                    *made == mt_const.comm_null ? made : NULL};
    mt_request e = {.key = MT_KEY(*request), .extra = promise, .kind = MT_NEW_COMM, .number = number};
    mt_table_put(&mt_requests, &e);
    mt_request_added();
}

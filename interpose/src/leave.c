// The policies that are functions: see leave.h.
#include "leave.h"

#include "status.h"

#include <stdlib.h>

mt_span mt_enter_rarely(unsigned call, uint64_t site)
{
    return mt_enter_from(call, site);
}

void mt_leave_call(mt_span *s, int rc)
{
    (void)rc;
    if (s->thread)
        mt_book_bare(s);
}

static void remember_persistent(const mt_span *s, MPI_Comm comm, mt_request_kind kind, int peer, int64_t count,
                            MPI_Datatype type, MPI_Request request)
{
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (!t || request == mt_const.request_null)
        return;
    uint64_t bytes = peer >= 0 ? mt_data_bytes(t, count, type) : 0;
    mt_request e = {.key = MT_KEY(request), .site = s->site, .comm = mt_comm_of(t, comm), .bytes = bytes,
                    .peer = mt_peer(peer), .call = s->call, .kind = (uint8_t)kind};
    mt_table_put(&mt_requests, &e);
}

static void remember_message(const mt_span *s, MPI_Comm comm, int source, MPI_Message message)
{
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (!t || message == mt_const.message_null || message == mt_const.message_no_proc)
        return;
    mt_request e = {.key = MT_KEY(message), .site = s->site, .comm = mt_comm_of(t, comm), .peer = mt_peer(source),
                    .slice = s->slice, .call = s->call};
    mt_table_put(&mt_messages, &e);
}

// The receive half of Sendrecv is untimed: its send half has the time.
void mt_book_recv(mt_span *s, unsigned direction, mt_comm *c, int source, const MPI_Status *seen, uint64_t ticks)
{
    bool moves = source != MPI_PROC_NULL && seen->MPI_SOURCE >= 0;
    uint64_t bytes = moves ? mt_status_bytes(seen) : 0;
    if (direction == MT_DIR_RECV)
        mt_book(s->thread,
                mt_span_key(s, moves ? MT_DIR_RECV : MT_DIR_NONE, c->index,
                            moves ? seen->MPI_SOURCE : MT_PEER_PROC_NULL, bytes),
                bytes, ticks);
    else if (moves)
        mt_book_untimed(s->thread, mt_span_key(s, MT_DIR_RECV_POSTED, c->index, seen->MPI_SOURCE, bytes), bytes);
}

static void book_aside(const mt_span *s, unsigned direction, const mt_comm *c, int32_t peer)
{
    if (peer != MT_PEER_PROC_NULL)
        mt_book_untimed(s->thread, mt_span_key(s, direction, c->index, peer, 0), 0);
}

bool mt_is_truncated(const mt_span *s, int rc)
{
    return s->thread && rc != MPI_SUCCESS && mt_error_class(rc) == MPI_ERR_TRUNCATE;
}

void mt_book_truncated(const mt_span *s, const mt_comm *c, int32_t posted, const MPI_Status *seen)
{
    book_aside(s, MT_DIR_TRUNCATED, c, mt_failed_source(c, posted, seen));
}

void mt_leave_recv(mt_span *s, int rc, MPI_Comm comm, int source, const MPI_Status *seen)
{
    if (!mt_is_bookable(s, rc)) {
        if (mt_is_truncated(s, rc))
            mt_book_truncated(s, mt_comm_of(s->thread, comm), mt_peer(source), seen);
        return;
    }
    uint64_t ticks = mt_close(s);
    mt_book_recv(s, MT_DIR_RECV, mt_comm_of(s->thread, comm), source, seen, ticks);
}

void mt_leave_sendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source,
                       const MPI_Status *seen)
{
    mt_leave_send(s, rc, comm, dest, count, type);
    if (s->thread && rc == MPI_SUCCESS) {
        mt_book_recv(s, MT_DIR_RECV_POSTED, mt_comm_of(s->thread, comm), source, seen, 0);
    } else if (mt_is_truncated(s, rc)) {
        mt_comm *c = mt_comm_of(s->thread, comm);
        mt_book_truncated(s, c, mt_peer(source), seen);
        book_aside(s, MT_DIR_SEND_FAILED, c, mt_peer(dest));
    }
}

void mt_leave_probe(mt_span *s, int rc, MPI_Comm comm, int peer)
{
    if (!mt_is_bookable(s, rc))
        return;
    uint64_t ticks = mt_close(s);
    mt_book(s->thread, mt_span_key(s, MT_DIR_NONE, mt_comm_of(s->thread, comm)->index, mt_peer(peer), 0), 0, ticks);
}

void mt_leave_irecv(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request)
{
    if (!mt_is_bookable(s, rc))
        return;
    uint64_t ticks = mt_close(s);
    mt_comm *c = mt_comm_of(s->thread, comm);
    int32_t peer = mt_peer(source);
    mt_book(s->thread, mt_span_key(s, MT_DIR_NONE, c->index, peer, 0), 0, ticks);
    // A receive from nobody completes at once, and its handle may be shared.
    if (source != MPI_PROC_NULL)
        mt_request_receive(s, *request, c, peer);
}

// MPICH (seen in 4.0 and 5.0) leaves the status of an Isendrecv as it finds it,
// which is what an earlier request left there.
#ifdef OPEN_MPI
enum { ISENDRECV = MT_RECEIVE };
#else
enum { ISENDRECV = MT_UNTOLD_RECEIVE };
#endif

void mt_leave_isendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source,
                        MPI_Request *request)
{
    mt_leave_send(s, rc, comm, dest, count, type);
    if (s->thread && rc == MPI_SUCCESS && source != MPI_PROC_NULL)
        mt_request_posted(s, *request, (mt_request_kind)ISENDRECV, mt_comm_of(s->thread, comm), mt_peer(source));
}

void mt_leave_send_init(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                        MPI_Request *request)
{
    mt_leave_probe(s, rc, comm, dest);
    if (rc == MPI_SUCCESS && mt_on())
        remember_persistent(s, comm, MT_PERSISTENT_SEND, dest, count, type, *request);
}

void mt_leave_recv_init(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request)
{
    mt_leave_probe(s, rc, comm, source);
    if (rc == MPI_SUCCESS && mt_on())
        remember_persistent(s, comm, MT_PERSISTENT_RECEIVE, source, 0, mt_const.datatype_null, *request);
}

void mt_leave_mprobe(mt_span *s, int rc, MPI_Comm comm, int source, const int *flag, MPI_Message *message)
{
    mt_leave_probe(s, rc, comm, source);
    if (rc == MPI_SUCCESS && (!flag || *flag) && mt_on())
        remember_message(s, comm, source, *message);
}

void mt_leave_volume(mt_span *s, int rc, MPI_Comm comm, const mt_volume *volume)
{
    if (!mt_is_bookable(s, rc))
        return;
    uint64_t ticks = mt_close(s);
    mt_volume_book(s, comm, volume, ticks);
}

void mt_leave_volume_init(mt_span *s, int rc, MPI_Comm comm, const mt_volume *volume, MPI_Request *request)
{
    mt_leave_probe(s, rc, comm, MT_NO_RANK);
    if (rc == MPI_SUCCESS && mt_on())
        mt_volume_promise(s, comm, volume, *request);
}

void mt_leave_rma(mt_span *s, int rc, MPI_Win win, int target, unsigned direction, int64_t count, MPI_Datatype type)
{
    if (!mt_is_bookable(s, rc))
        return;
    uint64_t ticks = mt_close(s), bytes = target >= 0 ? mt_data_bytes(s->thread, count, type) : 0;
    uint32_t comm = mt_win_of(s->thread, win)->index;
    mt_book(s->thread, mt_span_key(s, target >= 0 ? direction : MT_DIR_NONE, comm, mt_peer(target), bytes), bytes,
            ticks);
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
    uint32_t comm = mt_win_of(s->thread, win)->index;
    mt_book_untimed(s->thread, mt_span_key(s, MT_DIR_READ_POSTED, comm, target, bytes), bytes);
}

void mt_leave_win(mt_span *s, int rc, MPI_Win win, int rank)
{
    if (!mt_is_bookable(s, rc))
        return;
    uint64_t ticks = mt_close(s);
    mt_book(s->thread, mt_span_key(s, MT_DIR_NONE, mt_win_of(s->thread, win)->index, mt_peer(rank), 0), 0, ticks);
}

void mt_leave_win_made(mt_span *s, int rc, MPI_Comm comm, MPI_Win *win)
{
    mt_leave_probe(s, rc, comm, MT_NO_RANK);
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (rc == MPI_SUCCESS && t && mt_on())
        mt_win_made(t, comm, *win);
}

void mt_leave_io(mt_span *s, int rc, unsigned direction, int64_t count, MPI_Datatype type)
{
    if (!mt_is_bookable(s, rc))
        return;
    uint64_t ticks = mt_close(s), bytes = mt_data_bytes(s->thread, count, type);
    mt_book(s->thread, mt_span_key(s, direction, MT_COMM_NONE, MT_PEER_NONE, bytes), bytes, ticks);
}

// Communicator management: the call is booked under the parent.
static void book_parent(mt_span *s, int rc, MPI_Comm comm)
{
    if (!s->thread)
        return;
    uint64_t ticks = mt_close(s);
    uint32_t index = rc == MPI_SUCCESS ? mt_comm_of(s->thread, comm)->index : MT_COMM_NONE;
    mt_book(s->thread, mt_span_key(s, MT_DIR_NONE, index, MT_PEER_NONE, 0), 0, ticks);
}

void mt_leave_comm(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made)
{
    book_parent(s, rc, parent);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_made(parent, *made, s->call, s->site);
}

void mt_leave_comm_group(mt_span *s, int rc, MPI_Comm parent, int tag, MPI_Comm *made)
{
    book_parent(s, rc, parent);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_made_by_members(parent, tag, *made, s->call, s->site);
}

void mt_leave_intercomm(mt_span *s, int rc, MPI_Comm local, int tag, MPI_Comm *made)
{
    mt_leave_comm_group(s, rc, local, tag, made);
}

void mt_leave_comm_name(mt_span *s, int rc, MPI_Comm comm, const char *name)
{
    book_parent(s, rc, comm);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_named(comm, name);
}

void mt_leave_start(mt_span *s, int rc, MPI_Request *request)
{
    if (rc != MPI_SUCCESS) {
        mt_leave_call(s, rc);
        return;
    }
    uint64_t ticks = s->thread ? mt_close(s) : 0;
    if (mt_on())
        mt_request_started(s, *request, true, ticks);
}

void mt_leave_startall(mt_span *s, int rc, int count, MPI_Request requests[])
{
    mt_leave_call(s, rc);
    if (rc != MPI_SUCCESS || !mt_on())
        return;
    for (int i = 0; i < count; i++)
        mt_request_started(s, requests[i], false, 0);
}

void mt_leave_comm_from_group(mt_span *s, int rc, const char *tag, MPI_Comm *made)
{
    mt_leave_call(s, rc);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_made_from_group(tag, *made, s->call, s->site);
}

void mt_leave_comm_idup(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made, MPI_Request *request)
{
    book_parent(s, rc, parent);
    if (rc != MPI_SUCCESS || !mt_on())
        return;
    mt_request_promise *promise = malloc(sizeof *promise);
    if (!promise) {
        mt_lost(&mt_header->lost_comms, 1);
        return;
    }
    *promise = (mt_request_promise){mt_comm_promised(parent, s->call, s->site), *made,
                                    *made == mt_const.comm_null ? made : NULL};
    mt_request e = {.key = MT_KEY(*request), .extra = promise, .kind = MT_NEW_COMM};
    mt_table_put(&mt_requests, &e);
}

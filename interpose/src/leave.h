// How calls are booked when they return: the policies that the call table
// names. After a failed call nothing is looked up (asking for the size of a bad
// datatype would raise the program's error handler): it is a call with time.
#ifndef MT_LEAVE_H
#define MT_LEAVE_H

#include "comm.h"
#include "record.h"
#include "request.h"
#include "resolve.h"
#include "types.h"
#include "volume.h"

// No rank and none of MPI's own constants for one.
#define MT_NO_RANK (-0x7fff0000)

// A rank argument as a row has it.
MT_INLINE int32_t mt_peer(int rank)
{
    if (mt_likely(rank >= 0))
        return rank;
    return rank == MPI_PROC_NULL ? MT_PEER_PROC_NULL : rank == MPI_ANY_SOURCE ? MT_PEER_ANY_SOURCE : MT_PEER_NONE;
}

// A status to read where the program ignores its own.
MT_INLINE MPI_Status *mt_seen(MPI_Status *status, MPI_Status *own)
{
    return status == MPI_STATUS_IGNORE ? own : status;
}

// A send: one row update.
MT_INLINE void mt_leave_send(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type)
{
    if (mt_unlikely(!s->thread))
        return;
    if (mt_unlikely(rc != MPI_SUCCESS)) {
        mt_book_bare(s);
        return;
    }
    uint64_t ticks = mt_close(s);
    mt_thread *t = s->thread;
    bool moves = dest >= 0;
    uint64_t bytes = moves && count > 0 ? (uint64_t)count * mt_type_bytes(t, type) : 0;
    mt_book(t, mt_span_key(s, moves ? MT_DIR_SEND : MT_DIR_NONE, mt_comm_of(t, comm)->index, mt_peer(dest), bytes),
            bytes, ticks);
}

// A blocking receive: what the status says. `ticks` of 0 and untimed for the
// receive half of Sendrecv, whose send half has the time.
MT_INLINE void mt_book_recv(mt_span *s, unsigned direction, mt_comm *c, int source, const MPI_Status *seen,
                            uint64_t ticks)
{
    bool moves = source != MPI_PROC_NULL && seen->MPI_SOURCE >= 0;
    uint64_t bytes = moves ? mt_received_bytes(seen) : 0;
    if (direction == MT_DIR_RECV)
        mt_book(s->thread,
                mt_span_key(s, moves ? MT_DIR_RECV : MT_DIR_NONE, c->index,
                            moves ? seen->MPI_SOURCE : MT_PEER_PROC_NULL, bytes),
                bytes, ticks);
    else if (moves)
        mt_book_untimed(s->thread, mt_span_key(s, MT_DIR_RECV_POSTED, c->index, seen->MPI_SOURCE, bytes), bytes);
}

MT_INLINE void mt_leave_recv(mt_span *s, int rc, MPI_Comm comm, int source, const MPI_Status *seen)
{
    if (!s->thread)
        return;
    if (rc != MPI_SUCCESS) {
        mt_book_bare(s);
        return;
    }
    uint64_t ticks = mt_close(s);
    mt_book_recv(s, MT_DIR_RECV, mt_comm_of(s->thread, comm), source, seen, ticks);
}

MT_INLINE void mt_leave_sendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                                 int source, const MPI_Status *seen)
{
    mt_leave_send(s, rc, comm, dest, count, type);
    if (s->thread && rc == MPI_SUCCESS)
        mt_book_recv(s, MT_DIR_RECV_POSTED, mt_comm_of(s->thread, comm), source, seen, 0);
}

// Calls that name a peer and move nothing: probes, posted receives.
MT_INLINE void mt_leave_probe(mt_span *s, int rc, MPI_Comm comm, int peer)
{
    if (!s->thread)
        return;
    if (rc != MPI_SUCCESS) {
        mt_book_bare(s);
        return;
    }
    uint64_t ticks = mt_close(s);
    mt_book(s->thread, mt_span_key(s, MT_DIR_NONE, mt_comm_of(s->thread, comm)->index, mt_peer(peer), 0), 0, ticks);
}

MT_INLINE void mt_leave_irecv(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request)
{
    mt_leave_probe(s, rc, comm, source);
    // A receive from nobody completes at once, and its handle may be shared.
    if (s->thread && rc == MPI_SUCCESS && source != MPI_PROC_NULL)
        mt_request_receive(s, *request, mt_comm_of(s->thread, comm), source);
}

MT_INLINE void mt_leave_isendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                                  int source, MPI_Request *request)
{
    mt_leave_send(s, rc, comm, dest, count, type);
    if (s->thread && rc == MPI_SUCCESS && source != MPI_PROC_NULL)
        mt_request_receive(s, *request, mt_comm_of(s->thread, comm), source);
}

// Persistent requests are remembered whether or not recording is paused now,
// and so are communicators and messages below: they may be used later.
void mt_remember_persistent(const mt_span *s, MPI_Comm comm, mt_request_kind kind, int peer, int64_t count,
                            MPI_Datatype type, MPI_Request request);

MT_INLINE void mt_leave_send_init(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                                  MPI_Request *request)
{
    mt_leave_probe(s, rc, comm, dest);
    if (rc == MPI_SUCCESS && mt_on())
        mt_remember_persistent(s, comm, MT_PERSISTENT_SEND, dest, count, type, *request);
}

MT_INLINE void mt_leave_recv_init(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request)
{
    mt_leave_probe(s, rc, comm, source);
    if (rc == MPI_SUCCESS && mt_on())
        mt_remember_persistent(s, comm, MT_PERSISTENT_RECEIVE, source, 0, mt_const.datatype_null, *request);
}

void mt_leave_start(mt_span *s, int rc, MPI_Request *request);
void mt_leave_startall(mt_span *s, int rc, int count, MPI_Request requests[]);
void mt_remember_message(const mt_span *s, MPI_Comm comm, MPI_Message message);

MT_INLINE void mt_leave_mprobe(mt_span *s, int rc, MPI_Comm comm, int source, int flag, MPI_Message *message)
{
    mt_leave_probe(s, rc, comm, source);
    if (rc == MPI_SUCCESS && flag && mt_on())
        mt_remember_message(s, comm, *message);
}

MT_INLINE void mt_leave_coll(mt_span *s, int rc, MPI_Comm comm, mt_volume volume)
{
    if (!s->thread)
        return;
    if (rc != MPI_SUCCESS) {
        mt_book_bare(s);
        return;
    }
    uint64_t ticks = mt_close(s);
    mt_volume_book(s, comm, &volume, ticks);
}

MT_INLINE void mt_leave_coll_init(mt_span *s, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request)
{
    mt_leave_probe(s, rc, comm, MT_NO_RANK);
    if (rc == MPI_SUCCESS && mt_on())
        mt_volume_promise(s, comm, &volume, *request);
}

// Communicator management: the call is booked under the parent.
MT_INLINE void mt_book_parent(mt_span *s, int rc, MPI_Comm comm)
{
    if (!s->thread)
        return;
    uint64_t ticks = mt_close(s);
    uint32_t index = rc == MPI_SUCCESS ? mt_comm_of(s->thread, comm)->index : MT_COMM_NONE;
    mt_book(s->thread, mt_span_key(s, MT_DIR_NONE, index, MT_PEER_NONE, 0), 0, ticks);
}

MT_INLINE void mt_leave_comm(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made)
{
    mt_book_parent(s, rc, parent);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_made(parent, *made, s->call, s->site);
}

MT_INLINE void mt_leave_comm_group(mt_span *s, int rc, MPI_Comm parent, int tag, MPI_Comm *made)
{
    mt_book_parent(s, rc, parent);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_made_by_members(parent, tag, *made, s->call, s->site);
}

MT_INLINE void mt_leave_intercomm(mt_span *s, int rc, MPI_Comm local, int tag, MPI_Comm *made)
{
    mt_leave_comm_group(s, rc, local, tag, made);
}

void mt_leave_comm_idup(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made, MPI_Request *request);

MT_INLINE void mt_leave_comm_name(mt_span *s, int rc, MPI_Comm comm, const char *name)
{
    mt_book_parent(s, rc, comm);
    if (rc == MPI_SUCCESS && mt_on())
        mt_comm_named(comm, name);
}

#endif

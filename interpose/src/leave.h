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
#include "win.h"

// No rank and none of MPI's own constants for one.
#define MT_NO_RANK (-0x7fff0000)

// A rank argument as a row has it.
MT_INLINE int32_t mt_peer(int rank)
{
    if (mt_likely(rank >= 0))
        return rank;
    return rank == MPI_PROC_NULL ? MT_PEER_PROC_NULL : rank == MPI_ANY_SOURCE ? MT_PEER_ANY_SOURCE : MT_PEER_NONE;
}

// A status to read where the program ignores its own. It names no rank until
// the MPI does.
MT_INLINE MPI_Status *mt_seen(MPI_Status *status, MPI_Status *own)
{
    if (status != MPI_STATUS_IGNORE)
        return status;
    own->MPI_SOURCE = MT_NO_RANK;
    return own;
}

// False where there is nothing to look up: the call is not recorded, or it
// failed, which is booked here.
MT_INLINE bool mt_is_bookable(mt_span *s, int rc)
{
    if (mt_likely(s->thread && rc == MPI_SUCCESS))
        return true;
    if (s->thread)
        mt_book_bare(s);
    return false;
}

// A send: one row update.
MT_INLINE void mt_leave_send(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type)
{
    if (!mt_is_bookable(s, rc))
        return;
    uint64_t ticks = mt_close(s);
    mt_thread *t = s->thread;
    bool moves = dest >= 0;
    uint64_t bytes = moves ? mt_data_bytes(t, count, type) : 0;
    mt_book(t, mt_span_key(s, moves ? MT_DIR_SEND : MT_DIR_NONE, mt_comm_of(t, comm)->index, mt_peer(dest), bytes),
            bytes, ticks);
}

// The others are functions: what they cost is small beside what they time, and
// three hundred copies of each are not.

// A blocking receive: the bytes and the source are what the status says.
void mt_leave_recv(mt_span *s, int rc, MPI_Comm comm, int source, const MPI_Status *seen);
void mt_leave_sendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source,
                       const MPI_Status *seen);
void mt_book_recv(mt_span *s, unsigned direction, mt_comm *c, int source, const MPI_Status *seen, uint64_t ticks);

// A receive whose message did not fit: the message is gone, and is set aside. The
// error says that the arguments were good, so they may be looked up.
bool mt_is_truncated(const mt_span *s, int rc);
void mt_book_truncated(const mt_span *s, const mt_comm *c, int32_t posted, const MPI_Status *seen);

// A call that names a peer and moves nothing: probes, posted receives.
void mt_leave_probe(mt_span *s, int rc, MPI_Comm comm, int peer);
void mt_leave_irecv(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request);
void mt_leave_isendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source,
                        MPI_Request *request);

// Persistent requests are remembered whether or not recording is paused now,
// and so are matched messages and communicators: they may be used later.
void mt_leave_send_init(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                        MPI_Request *request);
void mt_leave_recv_init(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request);
void mt_leave_start(mt_span *s, int rc, MPI_Request *request);
void mt_leave_startall(mt_span *s, int rc, int count, MPI_Request requests[]);
void mt_leave_mprobe(mt_span *s, int rc, MPI_Comm comm, int source, const int *flag, MPI_Message *message);

void mt_leave_volume(mt_span *s, int rc, MPI_Comm comm, const mt_volume *volume);
void mt_leave_volume_init(mt_span *s, int rc, MPI_Comm comm, const mt_volume *volume, MPI_Request *request);

// The volume is made in place and handed on by its address.
MT_INLINE void mt_leave_coll(mt_span *s, int rc, MPI_Comm comm, mt_volume volume)
{
    mt_leave_volume(s, rc, comm, &volume);
}

MT_INLINE void mt_leave_coll_init(mt_span *s, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request)
{
    mt_leave_volume_init(s, rc, comm, &volume, request);
}

// One-sided: what moves goes to, or comes from, a rank of the window's group.
void mt_leave_rma(mt_span *s, int rc, MPI_Win win, int target, unsigned direction, int64_t count, MPI_Datatype type);

// Writes the origin's data (but with MPI_NO_OP) and reads the target's.
void mt_leave_rma_both(mt_span *s, int rc, MPI_Win win, int target, MPI_Op op, int64_t written,
                       MPI_Datatype written_type, int64_t read, MPI_Datatype read_type);

// A call on a window that moves nothing itself.
void mt_leave_win(mt_span *s, int rc, MPI_Win win, int rank);
void mt_leave_win_made(mt_span *s, int rc, MPI_Comm comm, MPI_Win *win);

// A file's data: bytes, no peer.
void mt_leave_io(mt_span *s, int rc, unsigned direction, int64_t count, MPI_Datatype type);

// Everything else: a call with its time.
void mt_leave_call(mt_span *s, int rc);

// Communicator management: the call is booked under the parent.
void mt_leave_comm(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made);
void mt_leave_comm_group(mt_span *s, int rc, MPI_Comm parent, int tag, MPI_Comm *made);
void mt_leave_intercomm(mt_span *s, int rc, MPI_Comm local, int tag, MPI_Comm *made);
void mt_leave_comm_from_group(mt_span *s, int rc, const char *tag, MPI_Comm *made);
void mt_leave_comm_idup(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made, MPI_Request *request);
void mt_leave_comm_name(mt_span *s, int rc, MPI_Comm comm, const char *name);

#endif

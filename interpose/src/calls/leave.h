// How calls are booked when they return: the policies that the call table
// names, for any call (quick.h has what suffices for most). After a failed call
// nothing is looked up (asking for the size of a bad datatype would raise the
// program's error handler): it is a call with time.
#ifndef MT_LEAVE_H
#define MT_LEAVE_H

#include "base/resolve.h"
#include "record/record.h"
#include "objects/comm.h"
#include "objects/request.h"
#include "objects/status.h"
#include "objects/types.h"
#include "objects/win.h"
#include "calls/volume.h"

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

// A send: one row update.
void mt_leave_send(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type);

// Quick calls (quick.h): one whose row is not at home, or is timed in another way; one
// that is the longest of its row, which has all but that and its count; and those
// that failed, whose line was put aside, or of which the status does not tell all.
// They return rc.
int mt_leave_quick_longest(mt_thread *t, mt_row *row, uint64_t ticks) MT_SLOW;
int mt_leave_quick(mt_thread *t, uint64_t site, uint64_t place, uint64_t what, uint64_t bytes,
                   uint64_t ticks) MT_APART;
int mt_leave_quick_oddly(mt_thread *t, unsigned call, uint64_t frame, int rc) MT_SLOW;
int mt_leave_quick_recv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen) MT_SLOW;
int mt_leave_quick_sendrecv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen) MT_SLOW;

// A blocking receive: the bytes and the source are what the status says.
void mt_leave_recv(mt_span *s, int rc, MPI_Comm comm, int source, const MPI_Status *seen);

// Both: the send has the time.
void mt_leave_sendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source,
                       const MPI_Status *seen);

// A call that names a peer and moves nothing: a probe.
void mt_leave_probe(mt_span *s, int rc, MPI_Comm comm, int peer);

// A nonblocking receive: a call now, and what it receives when it completes.
void mt_leave_irecv(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request);

// Nonblocking operations of which nothing is left to tell but, in a trace, when
// they were seen to have completed.
void mt_leave_isend(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                    MPI_Request *request);
void mt_leave_icoll(mt_span *s, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request);

void mt_leave_coll(mt_span *s, int rc, MPI_Comm comm, mt_volume volume);

// False where there is nothing to look up: the call is not recorded, or it
// failed, which is booked here.
bool mt_is_bookable(mt_span *s, int rc);

// A receive whose message did not fit: the message is gone, and is set aside. The
// error says that the arguments were good, so they may be looked up. The request is
// that of the probe that found it, or 0.
bool mt_is_truncated(const mt_span *s, int rc);
void mt_book_truncated(const mt_span *s, const mt_comm *c, int32_t posted, const MPI_Status *seen, uint32_t request);

// A receive, of a span that is closed, as its status tells it.
void mt_book_received(mt_span *s, uint32_t comm, int source, const MPI_Status *seen);

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

void mt_leave_coll_init(mt_span *s, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request);

// One-sided: what moves goes to, or comes from, a rank of the window's group.
void mt_leave_rma(mt_span *s, int rc, MPI_Win win, int target, unsigned direction, int64_t count, MPI_Datatype type);

// Writes the origin's data (but with MPI_NO_OP) and reads the target's.
void mt_leave_rma_both(mt_span *s, int rc, MPI_Win win, int target, MPI_Op op, int64_t written,
                       MPI_Datatype written_type, int64_t read, MPI_Datatype read_type);

// A call on a window that moves nothing itself.
void mt_leave_win(mt_span *s, int rc, MPI_Win win, int rank);
void mt_leave_win_lock(mt_span *s, int rc, MPI_Win win, int rank, int type);
void mt_leave_win_group(mt_span *s, int rc, MPI_Win win, MPI_Group group);
void mt_leave_win_made(mt_span *s, int rc, MPI_Comm comm, MPI_Win *win);

// A file's data: bytes, no peer.
void mt_leave_io(mt_span *s, int rc, unsigned direction, int64_t count, MPI_Datatype type);

// Everything else: a call with its time.
void mt_leave_call(mt_span *s, int rc);

// A datatype was committed: it is valid, and its size is known from now on.
void mt_leave_commit(mt_span *s, int rc, const MPI_Datatype *type);

// The program gave MPI a function of its own to call: see mt_objects.callbacks.
void mt_leave_callback(mt_span *s, int rc);

// Communicator management: the call is booked under the parent.
void mt_leave_comm(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made);
void mt_leave_comm_group(mt_span *s, int rc, MPI_Comm parent, int tag, MPI_Comm *made);
void mt_leave_intercomm(mt_span *s, int rc, MPI_Comm local, int tag, MPI_Comm *made);
void mt_leave_comm_from_group(mt_span *s, int rc, const char *tag, MPI_Comm *made);
void mt_leave_comm_idup(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made, MPI_Request *request);
void mt_leave_comm_name(mt_span *s, int rc, MPI_Comm comm, const char *name);

#endif

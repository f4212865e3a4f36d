// How calls are recorded when they return: the policies that the table of calls names, for
// any call (quick.h has short forms that suffice for most calls). After a failed call
// nothing is looked up, since asking for the size of an invalid datatype would call the
// program's error handler. Such a call is recorded with its time only.
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

// A send: updates one row.
void mt_leave_send(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type);

// The less frequent ends of calls on the quick path (quick.h). They return the call's
// result.
//
// mt_leave_quick_longest: the call is the longest one of its row, whose maximum and count
// are still to be updated.
//
// mt_leave_quick: the row is not in its home slot, or has samples or events.
//
// The other three: the call failed, calls inside it replaced the thread's current call, or
// the status of a receive does not have all that is needed.
int mt_leave_quick_longest(mt_thread *t, mt_row *row, uint64_t ticks) MT_SLOW;
int mt_leave_quick(mt_thread *t, uint64_t site, uint64_t place, uint64_t what, uint64_t bytes,
                   uint64_t ticks) MT_NOINLINE;
int mt_leave_quick_oddly(mt_thread *t, unsigned call, uint64_t frame, int rc) MT_SLOW;
int mt_leave_quick_recv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen) MT_SLOW;
int mt_leave_quick_sendrecv(mt_thread *t, unsigned call, uint64_t frame, int rc, const MPI_Status *seen) MT_SLOW;

// A blocking receive: the bytes and the source are those of its status.
void mt_leave_recv(mt_span *s, int rc, MPI_Comm comm, int source, const MPI_Status *seen);

// A send and a receive: the send has the time.
void mt_leave_sendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source,
                       const MPI_Status *seen);

// A call that names a peer and moves no data, for example a probe.
void mt_leave_probe(mt_span *s, int rc, MPI_Comm comm, int peer);

// A nonblocking receive: records the call now, and its message when it completes.
void mt_leave_irecv(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request);

// Nonblocking operations that are recorded completely at the call. A trace also has when
// they were seen to have completed.
void mt_leave_isend(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                    MPI_Request *request);
void mt_leave_icoll(mt_span *s, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request);

void mt_leave_coll(mt_span *s, int rc, MPI_Comm comm, mt_volume volume);

// Reports whether the call is recorded and succeeded, so that its arguments may be looked
// up. Records the time of a call that failed.
bool mt_is_bookable(mt_span *s, int rc);

// A receive whose message did not fit: the message is lost, and is recorded as truncated.
// This error means that the arguments were valid, so they may be looked up. `request` is
// the number of the probe that found the message, or 0.
bool mt_is_truncated(const mt_span *s, int rc);
void mt_book_truncated(const mt_span *s, const mt_comm *c, int32_t posted, const MPI_Status *seen, uint32_t request);

// Records a receive from its status. The span is closed.
void mt_book_received(mt_span *s, uint32_t comm, int source, const MPI_Status *seen);

void mt_leave_isendrecv(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int source,
                        MPI_Request *request);

// Persistent requests are remembered even while recording is paused, since they may be used
// later. The same holds for matched messages and communicators.
void mt_leave_send_init(mt_span *s, int rc, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                        MPI_Request *request);
void mt_leave_recv_init(mt_span *s, int rc, MPI_Comm comm, int source, MPI_Request *request);
void mt_leave_start(mt_span *s, int rc, MPI_Request *request);
void mt_leave_startall(mt_span *s, int rc, int count, MPI_Request requests[]);
void mt_leave_mprobe(mt_span *s, int rc, MPI_Comm comm, int source, const int *flag, MPI_Message *message);

void mt_leave_coll_init(mt_span *s, int rc, MPI_Comm comm, mt_volume volume, MPI_Request *request);

// One-sided: data moves to or from a rank of the window's group.
void mt_leave_rma(mt_span *s, int rc, MPI_Win win, int target, unsigned direction, int64_t count, MPI_Datatype type);

// Writes the origin's data (except with MPI_NO_OP) and reads the target's.
void mt_leave_rma_both(mt_span *s, int rc, MPI_Win win, int target, MPI_Op op, int64_t written,
                       MPI_Datatype written_type, int64_t read, MPI_Datatype read_type);

// A call on a window that moves no data itself.
void mt_leave_win(mt_span *s, int rc, MPI_Win win, int rank);
void mt_leave_win_lock(mt_span *s, int rc, MPI_Win win, int rank, int type);
void mt_leave_win_group(mt_span *s, int rc, MPI_Win win, MPI_Group group);
void mt_leave_win_made(mt_span *s, int rc, MPI_Comm comm, MPI_Win *win);

// File input and output: bytes, no peer.
void mt_leave_io(mt_span *s, int rc, unsigned direction, int64_t count, MPI_Datatype type);

// All other calls: records the time only.
void mt_leave_call(mt_span *s, int rc);

// A datatype was committed: it is valid, so its size is looked up now.
void mt_leave_commit(mt_span *s, int rc, const MPI_Datatype *type);

// The program passed MPI a function to call: see mt_objects.callbacks.
void mt_leave_callback(mt_span *s, int rc);

// Communicator management: the call is recorded under the parent.
void mt_leave_comm(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made);
void mt_leave_comm_group(mt_span *s, int rc, MPI_Comm parent, int tag, MPI_Comm *made);
void mt_leave_intercomm(mt_span *s, int rc, MPI_Comm local, int tag, MPI_Comm *made);
void mt_leave_comm_from_group(mt_span *s, int rc, const char *tag, MPI_Comm *made);
void mt_leave_comm_idup(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made, MPI_Request *request);
void mt_leave_comm_name(mt_span *s, int rc, MPI_Comm comm, const char *name);

#endif

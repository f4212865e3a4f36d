// The call that a thread is in: one cache line in the thread's record, so that
// readers of a process that hangs, or was killed, see where it is.
//
// It is written before a call is passed on, when nobody knows yet whether its
// arguments are good: nothing is asked of the MPI about them, only what is known
// already is looked up. The quick calls (quick.h) read back from it in which row
// they are booked, so that the line is not the price of a row again.
//
// Calls nest: MPI calls error handlers, operations and attributes' callbacks of
// the program's, which call MPI. The outer call's line is kept aside meanwhile.
// Calls also end without returning, by longjmp or an exception: a call that is
// made with no room on the stack for another around it tells that. And programs
// switch stacks, so that nothing is given up for dead while there is room for it.
// Whoever finds that the line is not its own asks for what was kept.
#ifndef MT_CURRENT_CALL_H
#define MT_CURRENT_CALL_H

#include "objects/comm.h"
#include "calls/volume.h"

// Opens a call that is recorded: nothing is known of it but where it is made.
void mt_current_call_begin(const mt_span *s);

// The line is another call's: it is put aside for the one made at `frame`.
void mt_current_call_save(mt_thread *t, uint64_t frame) MT_SLOW;

// The line is not that of the call of this frame, which returns: gets it back.
void mt_current_call_restore(mt_thread *t, unsigned call, uint64_t frame) MT_SLOW;

// What the thread is in once the call of this frame is not.
void mt_current_call_leave(mt_thread *t, uint64_t frame) MT_SLOW;

// The thread ends, wherever it was.
void mt_current_call_forget(mt_thread *t);

MT_INLINE void mt_current_call_clear(mt_current_call *o)
{
    __atomic_store_n(&o->call, 0, __ATOMIC_RELEASE);
}

// The call is booked.
MT_INLINE void mt_current_call_end(const mt_span *s)
{
    mt_thread *t = s->thread;
    if (mt_likely(t->frame == s->frame && !t->outers))
        mt_current_call_clear(t->open);
    else
        mt_current_call_leave(t, s->frame);
}

// What is said of the calls that are not quick: by policy, see interpose/gen.
void mt_current_call_send(const mt_span *s, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int tag);
void mt_current_call_recv(const mt_span *s, MPI_Comm comm, int source, int64_t count, MPI_Datatype type, int tag);
void mt_current_call_sendrecv(const mt_span *s, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                              int source, int tag);
void mt_current_call_coll(const mt_span *s, MPI_Comm comm, mt_volume volume);
void mt_current_call_rma(const mt_span *s, MPI_Win win, int target, unsigned direction, int64_t count,
                         MPI_Datatype type);
void mt_current_call_win(const mt_span *s, MPI_Win win, int rank);
void mt_current_call_io(const mt_span *s, unsigned direction, int64_t count, MPI_Datatype type);

// A call on a communicator that moves nothing itself, to or from a rank or MT_NO_RANK.
void mt_current_call_peer(const mt_span *s, MPI_Comm comm, int peer);
void mt_current_call_probe(const mt_span *s, MPI_Comm comm, int peer, int tag);

// The same, of a communicator that is known, or NULL; and a receive from it.
void mt_current_call_comm(const mt_span *s, const mt_comm *c, int32_t peer);
void mt_current_call_received(const mt_span *s, const mt_comm *c, int32_t peer, int64_t count, MPI_Datatype type);

// Calls that are given requests.
void mt_current_call_count(const mt_span *s, int count);

// MPI_Abort: its communicator, if that is MPI_COMM_WORLD or is remembered by the
// thread (which may be NULL), and its error code.
void mt_current_call_abort(mt_thread *t, mt_current_call *line, MPI_Comm comm, int errorcode);

#endif

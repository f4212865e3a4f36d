// The call that a thread is in. It is one cache line in the thread's record, so that
// readers of a process that hangs, or was killed, see where each thread is.
//
// The line is written before the call is passed on, when it is not known yet whether
// the arguments are valid. So the MPI is asked nothing about them, and only what is
// known already is looked up. When the call has returned, its row is read back from the
// line. Otherwise the line would cost as much as a second row.
//
// Calls nest: MPI calls the program's error handlers, reduction operations and
// attribute callbacks, which may call MPI. The line of the outer call is saved
// meanwhile. Calls also end without returning, by longjmp or an exception. A later call
// shows this if its frame leaves no room on the stack for the earlier call around it.
// Programs also switch stacks, so a saved call is not dropped while there is room for
// it. A call that returns and finds another call's line restores its own from the saved
// lines.
//
// A call that ended without returning is in no count of calls. It is counted in a row of
// the direction MT_DIR_LEFT as soon as a later call shows it, at the latest when the thread
// ends or MPI_Finalize returns. So this costs nothing in calls that return. It needs no
// unwinding tables and no support of the compiler, and it is the same for longjmp.
#ifndef MT_CURRENT_CALL_H
#define MT_CURRENT_CALL_H

#include "base/hook.h"
#include "record/row.h"
#include "record/thread.h"

// Hook: returns the row that counts the call of a line as left. The row is in the table of `t`.
typedef mt_row *mt_hook_left_row(mt_thread *t, const mt_current_call *line);
MT_HOOK(left_row);

// Opens a call that is recorded. Only its call site is known.
void mt_current_call_begin(const mt_span *s);

// Saves the line, which belongs to another call, for a call that is made at `frame`.
void mt_current_call_save(mt_thread *t, uint64_t frame) MT_SLOW;

// Restores the line of the call with this frame, which returns and finds another call's
// line.
void mt_current_call_restore(mt_thread *t, unsigned call, uint64_t frame) MT_SLOW;

// Does what mt_current_call_restore does, for a call whose wrapper has kept a copy of its line.
void mt_current_call_reopen(mt_thread *t, uint64_t frame, const mt_current_call *line) MT_SLOW;

// Sets the line to the call that the thread is in after this call has ended.
void mt_current_call_leave(const mt_span *s) MT_SLOW;

// Clears the line and all saved lines of a thread that makes no more calls. These calls were left;
// they are counted in the table of `own`.
void mt_current_call_forget(mt_thread *t, mt_thread *own);

MT_INLINE void mt_current_call_clear(mt_current_call *o)
{
    __atomic_store_n(&o->call, 0, __ATOMIC_RELEASE);
}

// Leaves the call, which has been booked.
MT_INLINE void mt_current_call_end(const mt_span *s)
{
    mt_thread *t = s->thread;
    if (mt_likely(t->frame == s->frame && !t->outers))
        mt_current_call_clear(t->open);
    else
        mt_current_call_leave(s);
}

#endif

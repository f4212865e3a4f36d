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

#include "record/thread.h"

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

#endif

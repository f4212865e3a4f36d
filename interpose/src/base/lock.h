// The library's locks, and the code that must not be left half-way.
//
// A thread must not end while it holds one of these locks: all others would wait
// for it forever. pthread_cancel() ends a thread at a cancellation point, and
// open, write, close, posix_fallocate and poll are such points, while MPI calls
// are not. So a thread cannot be cancelled from mt_lock to mt_unlock, nor from
// mt_protect to mt_unprotect, which are for code that needs no lock. A request to
// cancel it stays pending, and the program's next cancellation point obeys it.
// (Cost: two calls of pthread_setcancelstate, some 5 ns each, beside a lock; the
// quick calls of quick.h take no lock.)
//
// A signal handler may interrupt that code and call MPI_Abort or MPI_Finalize. It
// must not wait for a lock that its own thread holds: see mt_protected.
//
// Lock order, outermost first. A thread that holds a lock may take one of a later
// line, never one of its own line or of an earlier one.
//   lifecycle.c
//   tool.c (MPI_T as the program sees it)
//   tool_pvars.c, tool_cvars.c
//   settings.c
//   slice.c, win.c
//   comm.c
//   modules.c
//   pvars.c, world.c, types.c, thread.c, stack.c, pvar_handle.c, mpit.c, resolve.c
//   record.c, trace.c
//   recording.c: log_lock
//   recording.c: grow_lock
// No other lock is taken under that of fortran.c, nor under those of request.c,
// which are plain mutexes.
#ifndef MT_LOCK_H
#define MT_LOCK_H

#include "base/base.h"

#include <pthread.h>

void mt_protect(void);
void mt_unprotect(void);

void mt_lock(pthread_mutex_t *lock);
void mt_unlock(pthread_mutex_t *lock);

// Reports whether the calling thread is in protected code. Where a wrapper is
// entered this says that a signal handler called it, in the middle of that code.
bool mt_protected(void);

#endif

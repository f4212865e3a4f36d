// The library's locks, and protected code, in which a thread cannot be cancelled.
//
// A thread must not end while it holds one of these locks: all others would wait for it
// forever. pthread_cancel() ends a thread at a cancellation point. open, write, close,
// posix_fallocate and poll are cancellation points; MPI calls are not. So cancellation
// is disabled from mt_lock to mt_unlock, and from mt_protect to mt_unprotect, which are
// for protected code that needs no lock. A request to cancel the thread stays pending
// until the program's next cancellation point. (Cost: two calls of
// pthread_setcancelstate for each lock, about 5 ns each. The paths of call.h that
// are inlined take no lock.)
//
// A signal handler may interrupt protected code and call MPI_Abort or MPI_Finalize. It
// must not wait for a lock that its own thread holds: see mt_protected.
//
// Lock order: a thread that holds a lock may take only locks of a higher rank. A
// library that is built with -DMT_CHECK_LOCKS aborts if a thread takes another one. The
// test builds with sanitizers check this. (One case breaks the order and is accepted: a
// signal handler interrupts code under a lock and calls MPI_Finalize, and another tool
// then calls PMPI_Finalize, which has to be looked up.)
#ifndef MT_LOCK_H
#define MT_LOCK_H

#include "base/base.h"

#include <signal.h>
#include <stdbool.h>

// X(name, rank, what it guards)
#define MT_LOCKS(X)                                                                                                    \
    X(LIFECYCLE, 1, "lifecycle.c: which models of MPI are open; starting and ending the recording")                    \
    X(TOOL, 2, "tool.c: how often the program has opened MPI_T, and how many variables the MPI had then")              \
    X(LINKER, 3, "the dynamic linker's lock in dlopen, dlsym and dlclose. It is held while a library's constructor "   \
                 "runs, which may call MPI: so do not call these under a lock that an MPI call takes")                 \
    X(TOOL_PVARS, 4, "tool_pvars.c: sessions and handles of our performance variables")                                \
    X(TOOL_CVARS, 4, "tool_cvars.c: handles of our control variables")                                                 \
    X(SETTINGS, 5, "setting_change.c: settings that the program changed while MPI is open")                            \
    X(SLICE, 6, "slice.c: the names of slices, phases, the interval, and when usage was read last")                    \
    X(WIN, 6, "win.c: windows by handle, groups by members")                                                           \
    X(COMM, 7, "comm.c: communicators by handle and by index, freed communicators, their names")                       \
    X(MODULES, 8, "modules.c: loaded files, and where the sites of unloaded ones were moved")                          \
    X(LINKER_LIST, 9, "the dynamic linker's lock in dl_iterate_phdr: the list of loaded files")                        \
    X(PVARS, 10, "pvars.c: the session, the variables bound to objects, and the memory that values are read into")     \
    X(WATCHING, 10, "pvar_handle.c: the handles of high-water marks")                                                  \
    X(MPIT, 10, "mpit.c: the handles of the datatypes that variables have")                                            \
    X(WORLD, 10, "world.c: whether MPI_COMM_WORLD can be used, and the sessions that are open")                        \
    X(TYPES, 10, "types.c: the sizes of datatypes by handle")                                                          \
    X(THREADS, 10, "thread.c: the threads that have a table, and the tables of those that ended")                      \
    X(STACKS, 10, "stack.c: the table of stacks")                                                                      \
    X(RESOLVE, 10, "resolve.c: which MPI was found, and replacing the wrappers if it is the wrong one")                \
    X(ROWS, 11, "record.c: copying rows to another table, and moving their sites")                                     \
    X(EVENTS, 11, "trace.c: chunks of events, and the threads that fill them")                                         \
    X(LOG, 12, "recording.c: the segment of the log that is being filled")                                             \
    X(FILE, 13, "recording.c: the length of the file, and tables that can be reused")                                  \
    X(BINDINGS, 14, "fortran.c: which files have Fortran's bindings")                                                  \
    X(REQUESTS, 14, "request.c: a shard of the table of requests or messages; plain mutexes, see there")

#define MT_LOCK_ID(name, rank, what) MT_LOCK_##name,
typedef enum mt_lock_id { MT_LOCKS(MT_LOCK_ID) MT_LOCKS_COUNT } mt_lock_id;
#undef MT_LOCK_ID

// How deeply protected code is nested in this thread, and the thread's cancelability
// before the outermost. A signal handler may use both between any two instructions.
extern MT_THREAD_LOCAL volatile sig_atomic_t mt_lock_depth;
extern MT_THREAD_LOCAL volatile int mt_lock_state_before;

void mt_protect(void);
void mt_unprotect(void);

void mt_lock(mt_lock_id id);
void mt_unlock(mt_lock_id id);

// For locks that are not taken with mt_lock: the calling thread takes one, or has given
// it back. They do nothing unless the lock order is checked.
#ifdef MT_CHECK_LOCKS
void mt_lock_acquired(mt_lock_id id);
void mt_lock_released(mt_lock_id id);
#else
static inline void mt_lock_acquired(mt_lock_id id)
{
    (void)id;
}

static inline void mt_lock_released(mt_lock_id id)
{
    (void)id;
}
#endif

// Reports whether the calling thread is in protected code. If so on entry to a wrapper,
// the wrapper was called by a signal handler that interrupted the protected code.
bool mt_protected(void);

#endif

// Layer 7, lifecycle: starts and ends the recording, and calls all layers below. Only
// gen/, layer 8, is above it: the wrappers that are generated from the table of
// calls, and the names of the Fortran bindings.
//
// MPI is open while the world model or a session is open. The recording lasts from
// the first MPI call to the end of the last model.
#ifndef MT_LIFECYCLE_H
#define MT_LIFECYCLE_H

#include "base/resolve.h"
#include "record/record.h"

// mt_enter_init enters a call that initializes the world model or a session; the
// first such call makes the recording. mt_leave_init leaves a call that initializes
// the world model.
mt_span mt_enter_init(unsigned call, uint64_t site, uint64_t frame);
void mt_leave_init(mt_span *s, int rc);

// Called when the program has unloaded the MPI library. The program may load it
// again.
void mt_mpi_unloaded(void);

// Called before and after MPI_Finalize. Before the last one, mt_finalizing writes the last
// values of performance variables, the usage of the slice, and the time. After it,
// mt_finalized records the call, requests that have not completed, new modules, the time, the
// state MT_STATE_FINALIZED, and the checksum. Rows need no flush: they lie in the mapped file.
void mt_finalizing(void);
void mt_finalized(mt_span *s, int rc);

// Calls `next` for an MPI_Finalize in a signal handler that interrupted the library
// while it held a lock. Marks the recording as finalized and does nothing else.
int mt_finalize_interrupted(int (*next)(void));

// Called when the process exits. If MPI was finalized and no wrapper saw it, marks the recording
// as finalized, at this time, and notes that the call was not recorded.
void mt_finalize_unseen(void);

// Called before and after MPI_Abort. A signal handler may call MPI_Abort at any point
// of the code, also while the thread holds a lock. Therefore mt_aborting takes no
// lock, allocates nothing and looks up no symbol once recording has started. The
// recording shows MPI_Abort as the call that the thread was in at the end. MPI_Abort
// usually does not return.
mt_span mt_aborting(uint64_t site, uint64_t frame, MPI_Comm comm, int errorcode);
void mt_abort_returned(mt_span *s);

#if MT_HAVE_Session_init
// A session is opened between mt_enter_init and mt_leave_session_init, and closed
// between the other two. The recording ends when the last model is finalized, and
// continues if a session is opened after that. `known` is NULL for a session that the
// library did not see being opened.
void mt_leave_session_init(mt_span *s, int rc, const MPI_Session *session);
bool mt_session_finalizing(MPI_Session session);
void mt_session_finalized(mt_span *s, int rc, const MPI_Session *known);
#endif

#endif

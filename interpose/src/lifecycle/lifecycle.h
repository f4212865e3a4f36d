// Layer 7, lifecycle: it starts and ends the recording, and calls all layers below.
// Above it is only gen/, layer 8: the wrappers that are generated from the table of
// calls, and the names of Fortran's bindings.
//
// From the first MPI call to the last: MPI is open while the world model or a
// session is.
#ifndef MT_LIFECYCLE_H
#define MT_LIFECYCLE_H

#include "base/resolve.h"
#include "record/record.h"

// MPI_Init is being entered: the recording is made.
mt_span mt_enter_init(unsigned call, uint64_t site, uint64_t frame);
void mt_leave_init(mt_span *s, int rc);

// The program has unloaded the MPI library, and may load it again.
void mt_mpi_unloaded(void);

// Around MPI_Finalize.
void mt_finalizing(void);
void mt_finalized(mt_span *s, int rc);

// MPI_Finalize in a signal handler that interrupted the library where it holds a
// lock: it calls `next`, the recording says that the process was finalized, and no
// more is done.
int mt_finalize_interrupted(int (*next)(void));

// Around MPI_Abort, which a signal handler may call wherever the thread is: it
// takes no lock, allocates nothing and looks nothing up. The call is told as the
// one that the thread was in at the end. In most cases it does not return.
mt_span mt_aborting(uint64_t site, uint64_t frame, MPI_Comm comm, int errorcode);
void mt_abort_returned(mt_span *s);

#if MT_HAVE_Session_init
// A session is opened as MPI is by MPI_Init, between mt_enter_init and this;
// and closed. The recording ends with whatever is finalized last, and goes on
// if a session is opened after that. `known` is NULL for a session whose opening
// was not seen.
void mt_leave_session_init(mt_span *s, int rc, const MPI_Session *session);
bool mt_session_finalizing(MPI_Session session);
void mt_session_finalized(mt_span *s, int rc, const MPI_Session *known);
#endif

#endif

// The wrappers of the calls that start and end the recording.
#include "base/lock.h"
#include "base/resolve.h"
#include "calls/fortran.h"
#include "lifecycle/lifecycle.h"
#include "lifecycle/state.h"

MT_EXPORT int MPI_Init(int *argc, char ***argv)
{
    mt_span span = mt_enter_init(MT_CALL_INIT, MT_SITE, MT_FRAME);
    int rc = mt_pmpi.Init(argc, argv);
    mt_leave_init(&span, rc);
    return rc;
}

MT_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    mt_span span = mt_enter_init(MT_CALL_INIT_THREAD, MT_SITE, MT_FRAME);
    int rc = mt_pmpi.Init_thread(argc, argv, required, provided);
    mt_leave_init(&span, rc);
    return rc;
}

// Calls the next MPI_Finalize, which may be another tool's. If that tool calls
// PMPI_Finalize and the call reaches this library, it goes to finalize_passed_on.
static int next_finalize(void)
{
    atomic_store(&mt_lifecycle.in_finalize, true);
    int rc = mt_pmpi.Finalize();
    atomic_store(&mt_lifecycle.in_finalize, false);
    return rc;
}

MT_EXPORT int MPI_Finalize(void)
{
    if (mt_unlikely(mt_protected()))
        return mt_finalize_interrupted(next_finalize);
    mt_span span = mt_enter(MT_CALL_FINALIZE);
    mt_finalizing();
    int rc = next_finalize();
    mt_finalized(&span, rc);
    return rc;
}

static int finalize_passed_on(void)
{
    return atomic_load(&mt_lifecycle.in_finalize) ? mt_mpi.Finalize() : MPI_Finalize();
}

MT_REGISTER(finalize_passed_on, finalize_passed_on);

MT_EXPORT int MPI_Abort(MPI_Comm comm, int errorcode)
{
    mt_span span = mt_aborting(MT_SITE, MT_FRAME, comm, errorcode);
    int rc = mt_pmpi.Abort(comm, errorcode);
    mt_abort_returned(&span);
    return rc;
}

#if MT_HAVE_Session_init
MT_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    mt_span span = mt_enter_init(MT_CALL_SESSION_INIT, MT_SITE, MT_FRAME);
    int rc = mt_pmpi.Session_init(info, errhandler, session);
    mt_leave_session_init(&span, rc, session);
    return rc;
}

MT_EXPORT int MPI_Session_finalize(MPI_Session *session)
{
    mt_span span = mt_enter(MT_CALL_SESSION_FINALIZE);
    MPI_Session handle;
    bool known = session && mt_on() && mt_session_finalizing(handle = *session);
    int rc = mt_pmpi.Session_finalize(session);
    mt_session_finalized(&span, rc, known ? &handle : NULL);
    return rc;
}
#endif

// Wrappers that do more than open a call, pass it on and record it: those that free handles
// (what is known of a handle has to go before the MPI may give it out again), and
// MPI_Comm_idup. Wrappers of calls that are given requests are in wait_test.h and wait_test.c,
// those that start and end the recording in lifecycle/init_finalize.c.
#include "record/current_call.h"
#include "record/slice.h"
#include "record/trace.h"
#include "calls/completion.h"
#include "calls/fortran.h"
#include "calls/policy.h"

// The only function without ierror in Fortran. The Fortran layers jump to it, so that the
// program itself seems to call it.
MT_EXPORT int MPI_Pcontrol(const int level, ...)
{
    mt_span span = mt_enter(MT_CALL_PCONTROL);
    mt_fortran_take(MT_CALL_PCONTROL, &span.site);
    int rc = mt_pmpi.Pcontrol(level);
    if (span.thread)
        mt_book_bare(&span);
    mt_slice_pcontrol(level);
    return rc;
}

static int free_comm(mt_call *c, MPI_Comm *comm, int (*release)(MPI_Comm *))
{
    MPI_Comm handle = comm ? *comm : mt_const.comm_null; // the MPI rejects NULL
    mt_comm *known = mt_on() ? mt_comm_freeing(handle) : NULL;
    mt_span *s = &c->span;
    mt_begin_known_comm(c, known, MT_PEER_NONE);
    int rc = release(comm);
    if (mt_on())
        mt_comm_freed(rc == MPI_SUCCESS ? mt_const.comm_null : handle, known);
    if (s->thread) {
        mt_close(s);
        mt_book(s, mt_span_key(s, MT_DIR_NONE, known ? known->index : MT_COMM_NONE, MT_PEER_NONE, 0), 0);
    }
    return rc;
}

// Prepares MPI_Comm_idup. The MPIs tested (MPICH 4.0 and 5.0, Open MPI 4.1 and 5.0) write
// the new handle at the call and not at completion. At completion the address may be
// invalid, since Open MPI's Fortran layer passes that of a local variable. So the handle is
// copied right after the call if it was written. To detect that, it is set to MPI_COMM_NULL
// before the call. Returns the old value, which a failed call gets back.
static MPI_Comm opening_idup(MPI_Comm *newcomm)
{
    MPI_Comm before = mt_const.comm_null;
    if (mt_on() && newcomm) {
        before = *newcomm;
        *newcomm = mt_const.comm_null;
    }
    return before;
}

static int end_idup(mt_call *c, int rc, MPI_Comm comm, MPI_Comm before, MPI_Comm *newcomm, MPI_Request *request)
{
    if (rc != MPI_SUCCESS && mt_on() && newcomm && *newcomm == mt_const.comm_null)
        *newcomm = before;
    return mt_end_comm_idup(c, rc, comm, newcomm, request);
}

MT_EXPORT int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    mt_call c;
    mt_open(&c, MT_CALL_COMM_IDUP, MT_SITE, MT_FRAME);
    mt_begin_comm(&c, comm);
    MPI_Comm before = opening_idup(newcomm);
    int rc = mt_pmpi.Comm_idup(comm, newcomm, request);
    return end_idup(&c, rc, comm, before, newcomm, request);
}

#if MT_HAVE_Comm_idup_with_info
MT_EXPORT int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    mt_call c;
    mt_open(&c, MT_CALL_COMM_IDUP_WITH_INFO, MT_SITE, MT_FRAME);
    mt_begin_comm(&c, comm);
    MPI_Comm before = opening_idup(newcomm);
    int rc = mt_pmpi.Comm_idup_with_info(comm, info, newcomm, request);
    return end_idup(&c, rc, comm, before, newcomm, request);
}
#endif

MT_EXPORT int MPI_Comm_free(MPI_Comm *comm)
{
    mt_call c;
    mt_open(&c, MT_CALL_COMM_FREE, MT_SITE, MT_FRAME);
    return free_comm(&c, comm, mt_pmpi.Comm_free);
}

MT_EXPORT int MPI_Comm_disconnect(MPI_Comm *comm)
{
    mt_call c;
    mt_open(&c, MT_CALL_COMM_DISCONNECT, MT_SITE, MT_FRAME);
    return free_comm(&c, comm, mt_pmpi.Comm_disconnect);
}

MT_EXPORT int MPI_Win_free(MPI_Win *win)
{
    mt_call c;
    mt_open(&c, MT_CALL_WIN_FREE, MT_SITE, MT_FRAME);
    MPI_Win handle = win ? *win : mt_const.win_null;
    uint32_t number = 0;
    mt_comm *known = mt_on() ? mt_win_freeing(handle, &number) : NULL;
    mt_begin_known_comm(&c, known, MT_PEER_NONE);
    int rc = mt_pmpi.Win_free(win);
    if (mt_on())
        mt_win_freed(rc == MPI_SUCCESS ? mt_const.win_null : handle, known, number);
    if (c.span.thread) {
        mt_close(&c.span);
        c.span.thread->open->count = mt_win_tag(number, 0);
        mt_book(&c.span, mt_span_key(&c.span, MT_DIR_NONE, known ? known->index : MT_COMM_NONE, MT_PEER_NONE, 0), 0);
    }
    return rc;
}

MT_EXPORT int MPI_Type_free(MPI_Datatype *datatype)
{
    mt_call c;
    mt_open(&c, MT_CALL_TYPE_FREE, MT_SITE, MT_FRAME);
    MPI_Datatype type = datatype ? *datatype : mt_const.datatype_null;
    if (datatype && mt_on())
        mt_type_forget(type);
    int rc = mt_pmpi.Type_free(datatype);
    if (datatype && mt_on())
        mt_type_forget(type); // callbacks of its attributes may have used it
    return mt_end(&c, rc);
}

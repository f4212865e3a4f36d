// The wrappers that are more than one call between an enter and a leave: those
// that start and end the recording, those that free handles (what is known of
// one must go before another may be given the same), and matched receives. (Those
// that complete requests are in batch.c.)
#include "batch.h"
#include "leave.h"
#include "lifecycle.h"
#include "slice.h"

MT_EXPORT int MPI_Init(int *argc, char ***argv)
{
    mt_span span = mt_enter_init(MT_CALL_INIT, MT_SITE);
    int rc = mt_pmpi.Init(argc, argv);
    mt_leave_init(&span, rc);
    return rc;
}

MT_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    mt_span span = mt_enter_init(MT_CALL_INIT_THREAD, MT_SITE);
    int rc = mt_pmpi.Init_thread(argc, argv, required, provided);
    mt_leave_init(&span, rc);
    return rc;
}

MT_EXPORT int MPI_Finalize(void)
{
    mt_span span = mt_enter(MT_CALL_FINALIZE);
    mt_finalizing();
    int rc = mt_pmpi.Finalize();
    mt_finalized(&span, rc);
    return rc;
}

MT_EXPORT int MPI_Pcontrol(const int level, ...)
{
    mt_span span = mt_enter(MT_CALL_PCONTROL);
    int rc = mt_pmpi.Pcontrol(level);
    if (span.thread)
        mt_book_bare(&span);
    mt_slice_level(level);
    return rc;
}

static int free_comm(mt_span *s, MPI_Comm *comm, int (*release)(MPI_Comm *))
{
    MPI_Comm handle = comm ? *comm : mt_const.comm_null; // NULL is the MPI's to refuse
    mt_comm *c = mt_on() ? mt_comm_leaving(handle) : NULL;
    int rc = release(comm);
    if (mt_on())
        mt_comm_left(rc == MPI_SUCCESS ? mt_const.comm_null : handle, c);
    if (s->thread) {
        uint64_t ticks = mt_close(s);
        mt_book(s->thread, mt_span_key(s, MT_DIR_NONE, c ? c->index : MT_COMM_NONE, MT_PEER_NONE, 0), 0, ticks);
    }
    return rc;
}

MT_EXPORT int MPI_Comm_free(MPI_Comm *comm)
{
    mt_span span = mt_enter(MT_CALL_COMM_FREE);
    return free_comm(&span, comm, mt_pmpi.Comm_free);
}

MT_EXPORT int MPI_Comm_disconnect(MPI_Comm *comm)
{
    mt_span span = mt_enter(MT_CALL_COMM_DISCONNECT);
    return free_comm(&span, comm, mt_pmpi.Comm_disconnect);
}

MT_EXPORT int MPI_Win_free(MPI_Win *win)
{
    mt_span span = mt_enter(MT_CALL_WIN_FREE);
    MPI_Win handle = win ? *win : mt_const.win_null;
    mt_comm *c = mt_on() ? mt_win_leaving(handle) : NULL;
    int rc = mt_pmpi.Win_free(win);
    if (mt_on())
        mt_win_left(rc == MPI_SUCCESS ? mt_const.win_null : handle, c);
    if (span.thread) {
        uint64_t ticks = mt_close(&span);
        mt_book(span.thread, mt_span_key(&span, MT_DIR_NONE, c ? c->index : MT_COMM_NONE, MT_PEER_NONE, 0), 0, ticks);
    }
    return rc;
}

MT_EXPORT int MPI_Type_free(MPI_Datatype *datatype)
{
    mt_span span = mt_enter(MT_CALL_TYPE_FREE);
    atomic_fetch_add_explicit(&mt_type_epoch, 1, memory_order_relaxed);
    int rc = mt_pmpi.Type_free(datatype);
    if (span.thread)
        mt_book_bare(&span);
    return rc;
}

// Finds the communicator of a matched message; none for MPI_MESSAGE_NO_PROC.
static bool take_message(const MPI_Message *message, mt_request *entry)
{
    return mt_on() && message && mt_table_take(&mt_messages, MT_KEY(*message), entry);
}

static void leave_mrecv(mt_span *s, int rc, bool found, const mt_request *m, const MPI_Status *seen)
{
    if (!s->thread)
        return;
    if (rc != MPI_SUCCESS || !found) {
        mt_book_bare(s);
        if (found && mt_is_truncated(s, rc))
            mt_book_truncated(s, m->comm, m->peer, seen);
        return;
    }
    uint64_t ticks = mt_close(s);
    mt_book_recv(s, MT_DIR_RECV, m->comm, MPI_ANY_SOURCE, seen, ticks);
}

static void leave_imrecv(mt_span *s, int rc, bool found, const mt_request *m, const MPI_Request *request)
{
    if (!s->thread)
        return;
    if (rc != MPI_SUCCESS || !found) {
        mt_book_bare(s);
        return;
    }
    uint64_t ticks = mt_close(s);
    mt_book(s->thread, mt_span_key(s, MT_DIR_NONE, m->comm->index, m->peer, 0), 0, ticks);
    mt_request_receive(s, *request, m->comm, m->peer);
}

#define MT_MATCHED_RECEIVES(suffix, count_type)                                                                       \
    MT_EXPORT int MPI_Mrecv##suffix(void *buf, count_type count, MPI_Datatype datatype, MPI_Message *message,         \
                                    MPI_Status *status)                                                               \
    {                                                                                                                 \
        mt_span span = mt_enter(MT_CALL_MRECV);                                                                       \
        MPI_Status own, *seen = mt_seen(status, &own);                                                                \
        mt_request m = {0};                                                                                           \
        bool found = take_message(message, &m);                                                                       \
        int rc = mt_pmpi.Mrecv##suffix(buf, count, datatype, message, seen);                                          \
        leave_mrecv(&span, rc, found, &m, seen);                                                                      \
        return rc;                                                                                                    \
    }                                                                                                                 \
    MT_EXPORT int MPI_Imrecv##suffix(void *buf, count_type count, MPI_Datatype datatype, MPI_Message *message,        \
                                     MPI_Request *request)                                                            \
    {                                                                                                                 \
        mt_span span = mt_enter(MT_CALL_IMRECV);                                                                      \
        mt_request m = {0};                                                                                           \
        bool found = take_message(message, &m);                                                                       \
        int rc = mt_pmpi.Imrecv##suffix(buf, count, datatype, message, request);                                      \
        leave_imrecv(&span, rc, found, &m, request);                                                                  \
        return rc;                                                                                                    \
    }

MT_MATCHED_RECEIVES(, int)
#if MT_HAVE_Mrecv_c
MT_MATCHED_RECEIVES(_c, MPI_Count)
#endif

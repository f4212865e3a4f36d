#include "mpit/unexpected.h"

#include "calls/policy.h"
#include "mpit/pvars.h"
#include "mpit/variables.h"

#include <errno.h>

static mt_pmpi_table mpi; // the MPI's own functions

// Returns the call that is open on this thread if it is `call` and is recorded, else
// NULL.
static mt_current_call *recorded_call(unsigned call)
{
    mt_thread *t = mt_self;
    bool recorded = t && t->open->call == call && !(mt_flags() & (MT_FLAG_CLOSED | MT_FLAG_PAUSED));
    return recorded ? t->open : NULL;
}

static void count_if_late(const mt_current_call *line, const mt_comm *c, int32_t peer)
{
    uint64_t messages;
    // A late receive is not a message, so it is booked without an event.
    if (c && mt_pvars_queue_length(c, &messages) && messages > mt_variables_late_limit())
        mt_book_untimed(mt_self, mt_key_of(line->site, line->slice, line->call, MT_DIR_LATE, c->index, peer, 0),
                        messages);
}

static void count_receive(unsigned call, MPI_Comm comm, int source)
{
    const mt_current_call *line = recorded_call(call);
    int saved = errno;
    if (line && source != MPI_PROC_NULL)
        count_if_late(line, mt_comm_known(mt_self, comm), mt_peer(source));
    errno = saved;
}

static void count_started(unsigned call, int count, const MPI_Request requests[])
{
    const mt_current_call *line = recorded_call(call);
    int saved = errno;
    for (int i = 0; line && requests && i < count; i++) {
        mt_comm *c;
        int32_t peer;
        if (mt_request_is_persistent_receive(requests[i], &c, &peer))
            count_if_late(line, c, peer);
    }
    errno = saved;
}

// Defines the functions that replace those which post receives, in the int and the
// MPI_Count form.
#define MT_COUNTS_LATE(name, call, parameters, arguments)                                                              \
    static int name parameters                                                                                         \
    {                                                                                                                  \
        count_receive(call, comm, source);                                                                             \
        return mpi.name arguments;                                                                                     \
    }

#define MT_RECV(suffix, count_t)                                                                                       \
    MT_COUNTS_LATE(Recv##suffix, MT_CALL_RECV,                                                                         \
               (void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status),  \
               (buf, count, type, source, tag, comm, status))                                                          \
    MT_COUNTS_LATE(Irecv##suffix, MT_CALL_IRECV,                                                                       \
               (void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *made),   \
               (buf, count, type, source, tag, comm, made))

#define MT_SENDRECV(name, suffix, call, count_t, last_t)                                                               \
    MT_COUNTS_LATE(name##suffix, call,                                                                                 \
               (const void *out, count_t sends, MPI_Datatype sent, int dest, int sendtag, void *in, count_t receives,  \
                MPI_Datatype received, int source, int tag, MPI_Comm comm, last_t *last),                              \
               (out, sends, sent, dest, sendtag, in, receives, received, source, tag, comm, last))                     \
    MT_COUNTS_LATE(name##_replace##suffix, call##_REPLACE,                                                             \
               (void *buf, count_t count, MPI_Datatype type, int dest, int sendtag, int source, int tag,               \
                MPI_Comm comm, last_t *last),                                                                          \
               (buf, count, type, dest, sendtag, source, tag, comm, last))

MT_RECV(, int)
MT_SENDRECV(Sendrecv, , MT_CALL_SENDRECV, int, MPI_Status)
#if MT_HAVE_Recv_c
MT_RECV(_c, MPI_Count)
MT_SENDRECV(Sendrecv, _c, MT_CALL_SENDRECV, MPI_Count, MPI_Status)
#endif
#if MT_HAVE_Isendrecv
MT_SENDRECV(Isendrecv, , MT_CALL_ISENDRECV, int, MPI_Request)
#endif
#if MT_HAVE_Isendrecv_c
MT_SENDRECV(Isendrecv, _c, MT_CALL_ISENDRECV, MPI_Count, MPI_Request)
#endif

static int Start(MPI_Request *request)
{
    count_started(MT_CALL_START, 1, request);
    return mpi.Start(request);
}

static int Startall(int count, MPI_Request requests[])
{
    count_started(MT_CALL_STARTALL, count, requests);
    return mpi.Startall(count, requests);
}

// Stores one pointer atomically: if sessions were open before, other threads may be
// calling through the table already.
#define MT_REPLACE(name) __atomic_store_n(&mt_pmpi.name, name, __ATOMIC_RELEASE)

static void replace_functions(void)
{
    mpi = mt_pmpi;
    MT_REPLACE(Recv), MT_REPLACE(Irecv), MT_REPLACE(Sendrecv), MT_REPLACE(Sendrecv_replace);
    MT_REPLACE(Start), MT_REPLACE(Startall);
#if MT_HAVE_Recv_c
    MT_REPLACE(Recv_c), MT_REPLACE(Irecv_c), MT_REPLACE(Sendrecv_c), MT_REPLACE(Sendrecv_replace_c);
#endif
#if MT_HAVE_Isendrecv
    MT_REPLACE(Isendrecv), MT_REPLACE(Isendrecv_replace);
#endif
#if MT_HAVE_Isendrecv_c
    MT_REPLACE(Isendrecv_c), MT_REPLACE(Isendrecv_replace_c);
#endif
}

void mt_unexpected_open(void)
{
    static bool done;
    if (!mt_variables_late_receives() || done)
        return;
    done = true;
    if (mt_pvars_have_queue())
        replace_functions();
    else if (mt_process.world_rank <= 0)
        mt_log("MPITRACE_WATCH_UNEXPECTED: this MPI does not report the length of its queue of unexpected messages "
               "(%s): late receives are not counted",
#ifdef OPEN_MPI
               "Open MPI does with --mca pml ob1"
#else
               "MPICH does if it was configured with --enable-mpit-pvars=recvq"
#endif
        );
}

// The policies that happen rarely enough to be functions.
#include "leave.h"

#include <stdlib.h>

void mt_remember_persistent(const mt_span *s, MPI_Comm comm, mt_request_kind kind, int peer, int64_t count,
                            MPI_Datatype type, MPI_Request request)
{
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (!t || request == mt_const.request_null)
        return;
    uint64_t bytes = peer >= 0 && count > 0 ? (uint64_t)count * mt_type_bytes(t, type) : 0;
    mt_request e = {.key = MT_KEY(request), .site = s->site, .comm = mt_comm_of(t, comm), .bytes = bytes,
                    .peer = mt_peer(peer), .call = s->call, .kind = (uint8_t)kind};
    mt_table_put(&mt_requests, &e);
}

void mt_leave_start(mt_span *s, int rc, MPI_Request *request)
{
    if (rc != MPI_SUCCESS) {
        if (s->thread)
            mt_book_bare(s);
        return;
    }
    uint64_t ticks = s->thread ? mt_close(s) : 0;
    if (mt_on())
        mt_request_started(s, *request, true, ticks);
}

void mt_leave_startall(mt_span *s, int rc, int count, MPI_Request requests[])
{
    if (s->thread)
        mt_book_bare(s);
    if (rc != MPI_SUCCESS || !mt_on())
        return;
    for (int i = 0; i < count; i++)
        mt_request_started(s, requests[i], false, 0);
}

void mt_remember_message(const mt_span *s, MPI_Comm comm, MPI_Message message)
{
    mt_thread *t = s->thread ? s->thread : mt_self;
    if (!t || message == mt_const.message_null || message == mt_const.message_no_proc)
        return;
    mt_request e = {.key = MT_KEY(message), .comm = mt_comm_of(t, comm)};
    mt_table_put(&mt_messages, &e);
}

void mt_leave_comm_idup(mt_span *s, int rc, MPI_Comm parent, MPI_Comm *made, MPI_Request *request)
{
    mt_book_parent(s, rc, parent);
    if (rc != MPI_SUCCESS || !mt_on())
        return;
    mt_comm_promise *promise = malloc(sizeof *promise);
    if (!promise) {
        mt_lost(&mt_header->lost_comms, 1);
        return;
    }
    *promise = mt_comm_promised(parent, made, s->call, s->site);
    mt_request e = {.key = MT_KEY(*request), .extra = promise, .kind = MT_NEW_COMM};
    mt_table_put(&mt_requests, &e);
}

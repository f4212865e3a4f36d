// Waiting and testing. Each wrapper takes the entries of its requests out of
// the table before the MPI may free the handles, and puts back what is left.
#include "batch.h"

#include <stdlib.h>

static bool room(mt_batch *b, int count, int wanted)
{
    if (count <= MT_BATCH_LOCAL && wanted <= MT_BATCH_LOCAL) {
        b->entries = b->local;
        b->statuses = b->local_statuses;
        return true;
    }
    size_t entries = (size_t)count * sizeof(mt_request);
    b->memory = malloc(entries + (size_t)wanted * sizeof(MPI_Status));
    if (!b->memory)
        return false;
    b->entries = b->memory;
    b->statuses = (MPI_Status *)((char *)b->memory + entries);
    return true;
}

// What can not be followed through this call must not be met again: the MPI may
// give the handles to other requests.
static void drop(int count, const MPI_Request requests[])
{
    mt_request e;
    for (int i = 0; i < count; i++)
        if (mt_table_take(&mt_requests, MT_KEY(requests[i]), &e))
            mt_lost(&mt_header->lost_requests, 1);
}

void mt_batch_open(mt_batch *b, int count, const MPI_Request requests[], MPI_Status *statuses, int wanted)
{
    b->count = 0;
    b->memory = NULL;
    b->own_statuses = statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE;
    b->statuses = statuses;
    bool followed = atomic_load_explicit(&mt_request_count, memory_order_relaxed) != 0;
    if (!mt_on() || count <= 0 || !requests || !followed)
        return;
    if (!room(b, count, wanted)) {
        b->statuses = statuses;
        drop(count, requests);
        return;
    }
    if (b->own_statuses)
        b->statuses[0].MPI_SOURCE = MT_NO_RANK; // until the MPI fills it
    else
        b->statuses = statuses;
    b->count = count;
    for (int i = 0; i < count; i++)
        if (!mt_table_take(&mt_requests, MT_KEY(requests[i]), &b->entries[i]))
            b->entries[i].key = 0;
}

void mt_batch_done(mt_batch *b, int i, const MPI_Status *status)
{
    if (i < 0 || i >= b->count || !b->entries[i].key)
        return;
    mt_request_done(&b->entries[i], status);
    b->entries[i].key = 0;
}

static void failed(mt_batch *b, int i, int error, const MPI_Status *status, const MPI_Request requests[])
{
    if (i < 0 || i >= b->count || !b->entries[i].key)
        return;
    mt_request_failed(&b->entries[i], error, status, requests[i] == mt_const.request_null);
    b->entries[i].key = 0;
}

void mt_batch_one_failed(mt_batch *b, const int *index, int rc, const MPI_Request requests[])
{
    // A truncated message is an error of the request and of no argument, so
    // that what the call fills is filled. Of other errors that is not known.
    if (rc != MPI_SUCCESS && b->count && mt_error_class(rc) == MPI_ERR_TRUNCATE)
        failed(b, index ? *index : 0, rc, b->statuses, requests);
}

// One of several statuses that a call which failed in some of them filled.
static void done_or_failed(mt_batch *b, int i, int rc, const MPI_Status *status, const MPI_Request requests[])
{
    if (rc == MPI_SUCCESS || status->MPI_ERROR == MPI_SUCCESS)
        mt_batch_done(b, i, status);
    else if (mt_error_class(status->MPI_ERROR) != MPI_ERR_PENDING)
        failed(b, i, status->MPI_ERROR, status, requests);
}

void mt_batch_all_done(mt_batch *b, int rc, const MPI_Request requests[])
{
    for (int i = 0; i < b->count; i++)
        done_or_failed(b, i, rc, &b->statuses[i], requests);
}

void mt_batch_some_done(mt_batch *b, int rc, int n, const int indices[], const MPI_Request requests[])
{
    for (int k = 0; k < n && b->count; k++)
        done_or_failed(b, indices[k], rc, &b->statuses[k], requests);
}

void mt_batch_close(mt_batch *b, int rc, const MPI_Request requests[])
{
    for (int i = 0; i < b->count; i++) {
        if (!b->entries[i].key)
            continue;
        if (rc != MPI_SUCCESS && requests[i] == mt_const.request_null)
            mt_request_failed(&b->entries[i], rc, NULL, true); // the MPI gave it up with the error
        else
            mt_table_put(&mt_requests, &b->entries[i]);
    }
    if (b->memory)
        free(b->memory);
}

static void leave(mt_span *s)
{
    if (s->thread)
        mt_book_bare(s);
}

// Some or all of the statuses tell; otherwise nothing completed.
static bool tells(int rc)
{
    return rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS;
}

MT_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    mt_span span = mt_enter(MT_CALL_WAIT);
    mt_batch b;
    mt_batch_open(&b, 1, request, status, 1);
    int rc = mt_pmpi.Wait(request, b.statuses);
    leave(&span);
    if (rc == MPI_SUCCESS)
        mt_batch_done(&b, 0, b.statuses);
    mt_batch_one_failed(&b, NULL, rc, request);
    mt_batch_close(&b, rc, request);
    return rc;
}

MT_EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    mt_span span = mt_enter(MT_CALL_TEST);
    mt_batch b;
    mt_batch_open(&b, 1, request, status, 1);
    int rc = mt_pmpi.Test(request, flag, b.statuses);
    leave(&span);
    if (rc == MPI_SUCCESS && *flag)
        mt_batch_done(&b, 0, b.statuses);
    mt_batch_one_failed(&b, NULL, rc, request);
    mt_batch_close(&b, rc, request);
    return rc;
}

MT_EXPORT int MPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])
{
    mt_span span = mt_enter(MT_CALL_WAITALL);
    mt_batch b;
    mt_batch_open(&b, count, array_of_requests, array_of_statuses, count);
    int rc = mt_pmpi.Waitall(count, array_of_requests, b.statuses);
    leave(&span);
    if (tells(rc))
        mt_batch_all_done(&b, rc, array_of_requests);
    mt_batch_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[])
{
    mt_span span = mt_enter(MT_CALL_TESTALL);
    mt_batch b;
    mt_batch_open(&b, count, array_of_requests, array_of_statuses, count);
    int rc = mt_pmpi.Testall(count, array_of_requests, flag, b.statuses);
    leave(&span);
    if (tells(rc) && (rc != MPI_SUCCESS || *flag))
        mt_batch_all_done(&b, rc, array_of_requests);
    mt_batch_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Waitany(int count, MPI_Request array_of_requests[], int *index, MPI_Status *status)
{
    mt_span span = mt_enter(MT_CALL_WAITANY);
    mt_batch b;
    mt_batch_open(&b, count, array_of_requests, status, 1);
    int rc = mt_pmpi.Waitany(count, array_of_requests, index, b.statuses);
    leave(&span);
    if (rc == MPI_SUCCESS && *index != MPI_UNDEFINED)
        mt_batch_done(&b, *index, b.statuses);
    mt_batch_one_failed(&b, index, rc, array_of_requests);
    mt_batch_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Testany(int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status)
{
    mt_span span = mt_enter(MT_CALL_TESTANY);
    mt_batch b;
    mt_batch_open(&b, count, array_of_requests, status, 1);
    int rc = mt_pmpi.Testany(count, array_of_requests, index, flag, b.statuses);
    leave(&span);
    if (rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED)
        mt_batch_done(&b, *index, b.statuses);
    mt_batch_one_failed(&b, index, rc, array_of_requests);
    mt_batch_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                           MPI_Status array_of_statuses[])
{
    mt_span span = mt_enter(MT_CALL_WAITSOME);
    mt_batch b;
    mt_batch_open(&b, incount, array_of_requests, array_of_statuses, incount);
    int rc = mt_pmpi.Waitsome(incount, array_of_requests, outcount, array_of_indices, b.statuses);
    leave(&span);
    if (tells(rc) && *outcount != MPI_UNDEFINED)
        mt_batch_some_done(&b, rc, *outcount, array_of_indices, array_of_requests);
    mt_batch_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                           MPI_Status array_of_statuses[])
{
    mt_span span = mt_enter(MT_CALL_TESTSOME);
    mt_batch b;
    mt_batch_open(&b, incount, array_of_requests, array_of_statuses, incount);
    int rc = mt_pmpi.Testsome(incount, array_of_requests, outcount, array_of_indices, b.statuses);
    leave(&span);
    if (tells(rc) && *outcount != MPI_UNDEFINED)
        mt_batch_some_done(&b, rc, *outcount, array_of_indices, array_of_requests);
    mt_batch_close(&b, rc, array_of_requests);
    return rc;
}

static void looked_at(mt_batch *b, int i, int rc, const MPI_Status *status)
{
    if (i >= 0 && i < b->count && b->entries[i].key)
        mt_request_looked_at(&b->entries[i], rc, status);
}

// The request stays valid: a later Wait must not count it again.
MT_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    mt_span span = mt_enter(MT_CALL_REQUEST_GET_STATUS);
    mt_batch b;
    mt_batch_open(&b, 1, &request, status, 1);
    int rc = mt_pmpi.Request_get_status(request, flag, b.statuses);
    leave(&span);
    if (rc != MPI_SUCCESS || *flag)
        looked_at(&b, 0, rc, b.statuses);
    mt_batch_close(&b, rc, &request);
    return rc;
}

#if MT_HAVE_Request_get_status_all
MT_EXPORT int MPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                                         MPI_Status *array_of_statuses)
{
    mt_span span = mt_enter(MT_CALL_REQUEST_GET_STATUS_ALL);
    mt_batch b;
    mt_batch_open(&b, count, array_of_requests, array_of_statuses, count);
    int rc = mt_pmpi.Request_get_status_all(count, array_of_requests, flag, b.statuses);
    leave(&span);
    for (int i = 0; rc == MPI_SUCCESS && *flag && i < b.count; i++)
        looked_at(&b, i, rc, &b.statuses[i]);
    mt_batch_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *index, int *flag,
                                         MPI_Status *status)
{
    mt_span span = mt_enter(MT_CALL_REQUEST_GET_STATUS_ANY);
    mt_batch b;
    mt_batch_open(&b, count, array_of_requests, status, 1);
    int rc = mt_pmpi.Request_get_status_any(count, array_of_requests, index, flag, b.statuses);
    leave(&span);
    if (rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED)
        looked_at(&b, *index, rc, b.statuses);
    mt_batch_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                          int array_of_indices[], MPI_Status *array_of_statuses)
{
    mt_span span = mt_enter(MT_CALL_REQUEST_GET_STATUS_SOME);
    mt_batch b;
    mt_batch_open(&b, incount, array_of_requests, array_of_statuses, incount);
    int rc = mt_pmpi.Request_get_status_some(incount, array_of_requests, outcount, array_of_indices, b.statuses);
    leave(&span);
    for (int k = 0; rc == MPI_SUCCESS && *outcount != MPI_UNDEFINED && k < *outcount; k++)
        looked_at(&b, array_of_indices[k], rc, &b.statuses[k]);
    mt_batch_close(&b, rc, array_of_requests);
    return rc;
}
#endif

// An active receive that is freed can never be seen to complete.
MT_EXPORT int MPI_Request_free(MPI_Request *request)
{
    mt_span span = mt_enter(MT_CALL_REQUEST_FREE);
    mt_request e;
    bool found = mt_on() && request && mt_table_take(&mt_requests, MT_KEY(*request), &e);
    int rc = mt_pmpi.Request_free(request);
    leave(&span);
    if (found && rc != MPI_SUCCESS)
        mt_table_put(&mt_requests, &e);
    else if (found)
        mt_request_freed(&e);
    return rc;
}

MT_EXPORT int MPI_Cancel(MPI_Request *request)
{
    mt_span span = mt_enter(MT_CALL_CANCEL);
    atomic_store_explicit(&mt_any_cancelled, true, memory_order_relaxed);
    int rc = mt_pmpi.Cancel(request);
    leave(&span);
    if (rc == MPI_SUCCESS && mt_on())
        mt_request_cancelled(&span, *request);
    return rc;
}

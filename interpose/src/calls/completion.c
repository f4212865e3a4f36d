// Calls that wait for requests or test them. If threads or callbacks can get the same
// handles (mt_take_before_call), a wrapper takes the entries of its requests out of the table
// before the call, and puts back those that did not complete. Otherwise it looks them up
// after the call.
#include "calls/completion.h"

#include "calls/arguments.h"
#include "calls/quick.h"

#include <stdlib.h>

// A thread keeps up to this many bytes of memory for the handles and statuses of its next
// call.
enum { MT_KEPT_BYTES = 1 << 18 };

// Returns the thread's memory if it suffices, else malloc'ed memory. The thread's is not
// available to a call inside this one, from a callback.
static void *borrow(mt_completion *b, size_t size)
{
    mt_thread *t = mt_self;
    if (!t || t->handles_size < size) {
        b->size = size;
        return malloc(size);
    }
    void *memory = t->handles;
    b->size = t->handles_size;
    t->handles = NULL;
    t->handles_size = 0;
    return memory;
}

static void give_back(mt_completion *b)
{
    mt_thread *t = mt_self;
    void *unused = b->memory;
    if (t && b->size <= MT_KEPT_BYTES && b->size > t->handles_size) {
        unused = t->handles;
        t->handles = b->memory;
        t->handles_size = b->size;
    }
    free(unused);
}

// Makes room for the handles, and for `wanted` statuses if the program ignores them.
// Returns false without memory.
static bool room(mt_completion *b, int count, int wanted)
{
    b->handles = b->local_handles;
    b->statuses = b->local_statuses;
    if (count <= MT_COMPLETION_LOCAL && wanted <= MT_COMPLETION_LOCAL)
        return true;
    size_t handles = ((size_t)count * sizeof(MPI_Request) + 15) & ~(size_t)15;
    b->memory = borrow(b, handles + (b->own_statuses ? (size_t)wanted * sizeof(MPI_Status) : 0));
    if (!b->memory)
        return false;
    b->handles = b->memory;
    b->statuses = (MPI_Status *)((char *)b->memory + handles);
    return true;
}

// Forgets requests that cannot be followed through this call: the MPI may give their
// handles to other requests.
static void drop(int count, const MPI_Request requests[])
{
    mt_request e;
    for (int i = 0; i < count; i++)
        if (mt_table_take(&mt_requests, MT_KEY(requests[i]), &e))
            mt_count_lost(&mt_process.header->lost_requests, 1);
}

// Takes the entries out of the table. Without memory it forgets the requests and returns
// false.
static bool take(mt_completion *b)
{
    b->entries = b->local;
    if (b->count > MT_COMPLETION_LOCAL && !(b->entries = b->more = malloc((size_t)b->count * sizeof(mt_request)))) {
        drop(b->count, b->handles);
        if (b->memory)
            give_back(b);
        b->count = 0;
        return false;
    }
    for (int i = 0; i < b->count; i++)
        if (!mt_table_take(&mt_requests, MT_KEY(b->handles[i]), &b->entries[i]))
            b->entries[i].key = 0;
    b->taken = true;
    return true;
}

void mt_completion_fill(mt_completion *b, int count, const MPI_Request requests[], MPI_Status *statuses, int wanted)
{
    b->taken = false;
    b->memory = b->more = NULL;
    if (count <= 0 || !requests || !mt_on())
        return;
    b->own_statuses = statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE;
    if (!room(b, count, wanted)) {
        b->statuses = statuses;
        drop(count, requests);
        return;
    }
    for (int i = 0; i < count; i++)
        b->handles[i] = requests[i];
    b->count = count;
    if (mt_take_before_call() && !take(b)) {
        b->statuses = statuses;
        return;
    }
    if (b->own_statuses)
        b->statuses[0].MPI_SOURCE = MT_NO_RANK; // until the MPI fills it
    else
        b->statuses = statuses;
}

void mt_completion_done(mt_completion *b, int i, const MPI_Status *status)
{
    if (i < 0 || i >= b->count)
        return;
    if (!b->taken) {
        mt_request_completed(b->handles[i], status);
    } else if (b->entries[i].key) {
        mt_request_entry_completed(&b->entries[i], status);
        b->entries[i].key = 0;
    }
}

// Records a request that failed. Failures are rare, so the entries are simply taken out of
// the table if they are not yet.
static void failed(mt_completion *b, int i, int error, const MPI_Status *status, const MPI_Request requests[])
{
    if (i < 0 || i >= b->count || (!b->taken && !take(b)) || !b->entries[i].key)
        return;
    mt_request_failed(&b->entries[i], error, status, requests[i] == mt_const.request_null);
    b->entries[i].key = 0;
}

void mt_completion_one_failed(mt_completion *b, const int *index, int rc, const MPI_Request requests[])
{
    // A truncated message is an error of the request and not of an argument, so the MPI has
    // written the results of the call. For other errors this is not known.
    if (rc != MPI_SUCCESS && b->count && mt_error_class(rc) == MPI_ERR_TRUNCATE)
        failed(b, index ? *index : 0, rc, b->statuses, requests);
}

// Records request i by its own status, in a call that may have failed for some requests.
static void done_or_failed(mt_completion *b, int i, int rc, const MPI_Status *status, const MPI_Request requests[])
{
    if (rc == MPI_SUCCESS || status->MPI_ERROR == MPI_SUCCESS)
        mt_completion_done(b, i, status);
    else if (mt_error_class(status->MPI_ERROR) != MPI_ERR_PENDING)
        failed(b, i, status->MPI_ERROR, status, requests);
}

void mt_completion_all_done(mt_completion *b, int rc, const MPI_Request requests[])
{
    for (int i = 0; i < b->count && (b->taken || mt_requests_any()); i++)
        done_or_failed(b, i, rc, &b->statuses[i], requests);
}

void mt_completion_some_done(mt_completion *b, int rc, int n, const int indices[], const MPI_Request requests[])
{
    for (int k = 0; k < n && b->count; k++)
        done_or_failed(b, indices[k], rc, &b->statuses[k], requests);
}

void mt_completion_close(mt_completion *b, int rc, const MPI_Request requests[])
{
    if (!b->count)
        return;
    if (!b->taken && rc != MPI_SUCCESS)
        take(b);
    for (int i = 0; b->taken && i < b->count; i++) {
        if (!b->entries[i].key)
            continue;
        if (rc != MPI_SUCCESS && requests[i] == mt_const.request_null)
            mt_request_failed(&b->entries[i], rc, NULL, true); // the MPI freed it with the error
        else
            mt_table_put(&mt_requests, &b->entries[i]);
    }
    if (mt_unlikely(b->memory != NULL))
        give_back(b);
    if (mt_unlikely(b->more != NULL))
        free(b->more);
}

// Reports whether the results of a call are valid, for all or some of its requests. If not,
// nothing completed, and a flag or an index may not have been written, or may be NULL.
static bool has_results(int rc)
{
    return rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS;
}

// These three run after a call that completes one request (if `done`), all, or some.
static void complete_one(mt_completion *b, int rc, bool done, const int *index, const MPI_Request requests[])
{
    if (!b->count)
        return;
    if (done)
        mt_completion_done(b, index ? *index : 0, b->statuses);
    mt_completion_one_failed(b, index, rc, requests);
    mt_completion_close(b, rc, requests);
}

static MT_NOINLINE void settle_all(mt_completion *b, int rc, bool done, const MPI_Request requests[])
{
    if (mt_likely(done && !b->taken)) {
        mt_posted_completed(b->count, b->handles, b->statuses);
        for (int i = 0; i < b->count && mt_requests_any(); i++) // in another order, or not plain receives
            if (MT_KEY(b->handles[i]) != 0)
                mt_request_completed(b->handles[i], &b->statuses[i]);
        if (mt_unlikely(b->memory != NULL))
            give_back(b);
        return;
    }
    if (done || rc == MPI_ERR_IN_STATUS)
        mt_completion_all_done(b, rc, requests);
    mt_completion_close(b, rc, requests);
}

MT_INLINE void complete_all(mt_completion *b, int rc, bool done, const MPI_Request requests[])
{
    if (b->count)
        settle_all(b, rc, done, requests);
}

static void complete_some(mt_completion *b, int rc, int n, const int indices[], const MPI_Request requests[])
{
    if (!b->count)
        return;
    if (n != MPI_UNDEFINED)
        mt_completion_some_done(b, rc, n, indices, requests);
    mt_completion_close(b, rc, requests);
}

// Records a completion that MPI_Request_get_status reported. The request stays valid, and a
// later Wait must not record it again.
static void look_at(mt_completion *b, int i, int rc, const MPI_Status *status)
{
    if (i >= 0 && i < b->count && (b->taken || take(b)) && b->entries[i].key)
        mt_request_got_status(&b->entries[i], rc, status);
}

static void look_at_one(mt_completion *b, int rc, bool done, const MPI_Request requests[])
{
    if (rc != MPI_SUCCESS || done)
        look_at(b, 0, rc, b->statuses);
    mt_completion_close(b, rc, requests);
}

// A call on the quick path, in one of the ways of quick.h.
#define MT_COMPLETES_WAY(way, site, frame, name, id, n, passed, open, complete)                                        \
    line = mt_quick_ready(way, t, id, site, frame);                                                                    \
    if (line && mt_quick_begin_count(way, t, line, id, n)) {                                                           \
        open;                                                                                                          \
        int rc = mt_pmpi.name passed;                                                                                  \
        mt_quick_bare(way, t, frame, id);                                                                              \
        complete;                                                                                                      \
        return rc;                                                                                                     \
    }

#define MT_COMPLETES(name, id, n, parameters, arguments, passed, open, complete)                                       \
    static MT_NOINLINE int apart_##name parameters                                                                     \
    {                                                                                                                  \
        mt_span span = mt_enter_from(id, mt_calling.site, mt_calling.frame);                                           \
        mt_completion b;                                                                                               \
        mt_current_call_count(&span, n);                                                                               \
        open;                                                                                                          \
        int rc = mt_pmpi.name passed;                                                                                  \
        mt_leave_call(&span, rc);                                                                                      \
        complete;                                                                                                      \
        return rc;                                                                                                     \
    }                                                                                                                  \
    MT_EXPORT int MPI_##name parameters                                                                                \
    {                                                                                                                  \
        mt_thread *t = mt_quick_self;                                                                                  \
        mt_current_call *line;                                                                                         \
        mt_completion b;                                                                                               \
        MT_COMPLETES_WAY(MT_TIMED, MT_SITE, MT_FRAME, name, id, n, passed, open, complete)                             \
        MT_COMPLETES_WAY(MT_UNTIMED, MT_SITE, MT_FRAME, name, id, n, passed, open, complete)                           \
        MT_COMPLETES_WAY(MT_OTHER, MT_SITE, MT_FRAME, name, id, n, passed, open, complete)                             \
        MT_TELL_CALLER(line);                                                                                          \
        return apart_##name arguments;                                                                                 \
    }

MT_COMPLETES(Wait, MT_CALL_WAIT, 1, (MPI_Request * request, MPI_Status *status), (request, status),
             (request, b.statuses), mt_completion_open(&b, 1, request, status, 1),
             complete_one(&b, rc, rc == MPI_SUCCESS, NULL, request))

MT_COMPLETES(Test, MT_CALL_TEST, 1, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status),
             (request, flag, b.statuses), mt_completion_open(&b, 1, request, status, 1),
             complete_one(&b, rc, rc == MPI_SUCCESS && *flag, NULL, request))

MT_COMPLETES(Waitall, MT_CALL_WAITALL, count, (int count, MPI_Request requests[], MPI_Status statuses[]),
             (count, requests, statuses), (count, requests, b.statuses),
             mt_completion_open(&b, count, requests, statuses, count),
             complete_all(&b, rc, rc == MPI_SUCCESS, requests))

MT_COMPLETES(Testall, MT_CALL_TESTALL, count, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
             (count, requests, flag, statuses), (count, requests, flag, b.statuses),
             mt_completion_open(&b, count, requests, statuses, count),
             complete_all(&b, rc, rc == MPI_SUCCESS && *flag, requests))

MT_COMPLETES(Waitany, MT_CALL_WAITANY, count, (int count, MPI_Request requests[], int *index, MPI_Status *status),
             (count, requests, index, status), (count, requests, index, b.statuses),
             mt_completion_open(&b, count, requests, status, 1),
             complete_one(&b, rc, rc == MPI_SUCCESS && *index != MPI_UNDEFINED, index, requests))

MT_COMPLETES(Testany, MT_CALL_TESTANY, count,
             (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
             (count, requests, index, flag, status), (count, requests, index, flag, b.statuses),
             mt_completion_open(&b, count, requests, status, 1),
             complete_one(&b, rc, rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED, index, requests))

MT_COMPLETES(Waitsome, MT_CALL_WAITSOME, count,
             (int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]),
             (count, requests, outcount, indices, statuses), (count, requests, outcount, indices, b.statuses),
             mt_completion_open(&b, count, requests, statuses, count),
             complete_some(&b, rc, has_results(rc) ? *outcount : MPI_UNDEFINED, indices, requests))

MT_COMPLETES(Testsome, MT_CALL_TESTSOME, count,
             (int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[]),
             (count, requests, outcount, indices, statuses), (count, requests, outcount, indices, b.statuses),
             mt_completion_open(&b, count, requests, statuses, count),
             complete_some(&b, rc, has_results(rc) ? *outcount : MPI_UNDEFINED, indices, requests))

MT_COMPLETES(Request_get_status, MT_CALL_REQUEST_GET_STATUS, 1, (MPI_Request request, int *flag, MPI_Status *status),
             (request, flag, status), (request, flag, b.statuses), mt_completion_open(&b, 1, &request, status, 1),
             look_at_one(&b, rc, rc == MPI_SUCCESS && *flag, &request))

#if MT_HAVE_Request_get_status_all
MT_EXPORT int MPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                                         MPI_Status *array_of_statuses)
{
    mt_span span = mt_enter(MT_CALL_REQUEST_GET_STATUS_ALL);
    mt_current_call_count(&span, count);
    mt_completion b;
    mt_completion_open(&b, count, array_of_requests, array_of_statuses, count);
    int rc = mt_pmpi.Request_get_status_all(count, array_of_requests, flag, b.statuses);
    mt_leave_call(&span, rc);
    for (int i = 0; rc == MPI_SUCCESS && *flag && i < b.count; i++)
        look_at(&b, i, rc, &b.statuses[i]);
    mt_completion_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *index, int *flag,
                                         MPI_Status *status)
{
    mt_span span = mt_enter(MT_CALL_REQUEST_GET_STATUS_ANY);
    mt_current_call_count(&span, count);
    mt_completion b;
    mt_completion_open(&b, count, array_of_requests, status, 1);
    int rc = mt_pmpi.Request_get_status_any(count, array_of_requests, index, flag, b.statuses);
    mt_leave_call(&span, rc);
    if (rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED)
        look_at(&b, *index, rc, b.statuses);
    mt_completion_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                          int array_of_indices[], MPI_Status *array_of_statuses)
{
    mt_span span = mt_enter(MT_CALL_REQUEST_GET_STATUS_SOME);
    mt_current_call_count(&span, incount);
    mt_completion b;
    mt_completion_open(&b, incount, array_of_requests, array_of_statuses, incount);
    int rc = mt_pmpi.Request_get_status_some(incount, array_of_requests, outcount, array_of_indices, b.statuses);
    mt_leave_call(&span, rc);
    for (int k = 0; rc == MPI_SUCCESS && *outcount != MPI_UNDEFINED && k < *outcount; k++)
        look_at(&b, array_of_indices[k], rc, &b.statuses[k]);
    mt_completion_close(&b, rc, array_of_requests);
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
    mt_leave_call(&span, rc);
    if (found && rc != MPI_SUCCESS)
        mt_table_put(&mt_requests, &e);
    else if (found)
        mt_request_freed(&e);
    return rc;
}

MT_EXPORT int MPI_Cancel(MPI_Request *request)
{
    mt_span span = mt_enter(MT_CALL_CANCEL);
    atomic_store_explicit(&mt_objects.any_cancelled, true, memory_order_relaxed);
    int rc = mt_pmpi.Cancel(request);
    mt_leave_call(&span, rc);
    if (rc == MPI_SUCCESS && mt_on())
        mt_request_cancelled(&span, *request);
    return rc;
}

// The requests of a call that waits for them or tests them. If threads or callbacks can get
// the same handles (mt_take_before_call), a wrapper takes the entries of its requests out of
// the table before the call, and puts back those that did not complete. Otherwise it looks
// them up after the call.
#include "calls/completion.h"

#include "calls/policy.h"

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
        if (mt_table_take(&mt_objects.requests, MT_KEY(requests[i]), &e))
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
        if (!mt_table_take(&mt_objects.requests, MT_KEY(b->handles[i]), &b->entries[i]))
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

// Records that request i completed with this status.
static void request_done(mt_completion *b, int i, const MPI_Status *status)
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

// Records a truncated message if that is the error `rc` of the call. The request is the one
// at `index`, or the only one if `index` is NULL.
static void one_failed(mt_completion *b, const int *index, int rc, const MPI_Request requests[])
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
        request_done(b, i, status);
    else if (mt_error_class(status->MPI_ERROR) != MPI_ERR_PENDING)
        failed(b, i, status->MPI_ERROR, status, requests);
}

// Records that all requests completed, each with its own status. `rc` and `requests` are as
// the call left them.
static void all_done(mt_completion *b, int rc, const MPI_Request requests[])
{
    for (int i = 0; i < b->count && (b->taken || mt_requests_any()); i++)
        done_or_failed(b, i, rc, &b->statuses[i], requests);
}

// Records that the `n` requests whose indices are in `indices` completed, each with its own status.
static void some_done(mt_completion *b, int rc, int n, const int indices[], const MPI_Request requests[])
{
    for (int k = 0; k < n && b->count; k++)
        done_or_failed(b, indices[k], rc, &b->statuses[k], requests);
}

// Reports whether the call may have failed because an argument was bad, before it looked at
// the messages.
static bool is_argument_error(int rc)
{
    int class = mt_error_class(rc);
    return class == MPI_ERR_ARG || class == MPI_ERR_COUNT || class == MPI_ERR_REQUEST;
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
        else if (rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS && !is_argument_error(rc))
            mt_table_put_failed(&mt_objects.requests, &b->entries[i]);
        else
            mt_table_put(&mt_objects.requests, &b->entries[i]);
    }
    if (mt_unlikely(b->memory != NULL))
        give_back(b);
    if (mt_unlikely(b->more != NULL))
        free(b->more);
}

void mt_completion_settle_one(mt_completion *b, int rc, bool done, const int *index, const MPI_Request requests[])
{
    if (done)
        request_done(b, index ? *index : 0, b->statuses);
    one_failed(b, index, rc, requests);
    mt_completion_close(b, rc, requests);
}

void mt_completion_settle_all(mt_completion *b, int rc, bool done, const MPI_Request requests[])
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
        all_done(b, rc, requests);
    mt_completion_close(b, rc, requests);
}

void mt_completion_settle_some(mt_completion *b, int rc, int n, const int indices[], const MPI_Request requests[])
{
    if (!b->count)
        return;
    if (n != MPI_UNDEFINED)
        some_done(b, rc, n, indices, requests);
    mt_completion_close(b, rc, requests);
}

void mt_completion_look_at(mt_completion *b, int i, int rc, const MPI_Status *status)
{
    if (i >= 0 && i < b->count && (b->taken || take(b)) && b->entries[i].key)
        mt_request_got_status(&b->entries[i], rc, status);
}

void mt_completion_settle_status(mt_completion *b, int rc, bool done, const MPI_Request requests[])
{
    if (rc != MPI_SUCCESS || done)
        mt_completion_look_at(b, 0, rc, b->statuses);
    mt_completion_close(b, rc, requests);
}

// The wrappers of calls that wait for requests, test them, cancel or free them. What each
// does is written once, as a function that is inlined for each path of call.h.
#include "calls/completion.h"
#include "calls/policy.h"

// Reports whether the results of a call are valid, for all or some of its requests. If not,
// nothing completed, and a flag or an index may not have been written, or may be NULL.
static bool has_results(int rc)
{
    return rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS;
}

MT_INLINE void complete_one(mt_completion *b, int rc, bool done, const int *index, const MPI_Request requests[])
{
    if (b->count && (done || rc != MPI_SUCCESS || b->taken || b->memory))
        mt_completion_settle_one(b, rc, done, index, requests);
}

MT_INLINE void complete_all(mt_completion *b, int rc, bool done, const MPI_Request requests[])
{
    if (b->count)
        mt_completion_settle_all(b, rc, done, requests);
}

static void look_at_one(mt_completion *b, int rc, bool done, const MPI_Request requests[])
{
    if (rc != MPI_SUCCESS || done)
        mt_completion_look_at(b, 0, rc, b->statuses);
    mt_completion_close(b, rc, requests);
}

MT_INLINE int wait_for_one(mt_path path, mt_call *c, MPI_Request *request, MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, 1);
    mt_completion_open_one(&b, request, status);
    int rc = mt_pmpi.Wait(request, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS); // a call that failed has a time too
    complete_one(&b, rc, rc == MPI_SUCCESS, NULL, request);
    return rc;
}

static MT_NOINLINE int general_Wait(MPI_Request *request, MPI_Status *status)
{
    mt_call c;
    mt_open(&c, MT_CALL_WAIT, mt_calling.site, mt_calling.frame);
    return wait_for_one(MT_GENERAL, &c, request, status);
}

static MT_NOINLINE int cached_Wait(MPI_Request *request, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    if (mt_path_open(MT_CACHED, &c, t, MT_CALL_WAIT, &mt_calling.site, mt_calling.frame))
        return wait_for_one(MT_CACHED, &c, request, status);
    return general_Wait(request, status);
}

MT_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    uint64_t site = MT_SITE;
    if (mt_path_open(MT_TIMED, &c, t, MT_CALL_WAIT, &site, MT_FRAME))
        return wait_for_one(MT_TIMED, &c, request, status);
    if (mt_path_open(MT_UNTIMED, &c, t, MT_CALL_WAIT, &site, MT_FRAME))
        return wait_for_one(MT_UNTIMED, &c, request, status);
    mt_calling = (mt_caller){site, MT_FRAME};
    return cached_Wait(request, status);
}

MT_INLINE int test_one(mt_path path, mt_call *c, MPI_Request *request, int *flag, MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, 1);
    mt_completion_open_one(&b, request, status);
    int rc = mt_pmpi.Test(request, flag, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS); // a call that failed has a time too
    complete_one(&b, rc, rc == MPI_SUCCESS && *flag, NULL, request);
    return rc;
}

static MT_NOINLINE int general_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    mt_call c;
    mt_open(&c, MT_CALL_TEST, mt_calling.site, mt_calling.frame);
    return test_one(MT_GENERAL, &c, request, flag, status);
}

static MT_NOINLINE int cached_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    if (mt_path_open(MT_CACHED, &c, t, MT_CALL_TEST, &mt_calling.site, mt_calling.frame))
        return test_one(MT_CACHED, &c, request, flag, status);
    return general_Test(request, flag, status);
}

MT_EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    uint64_t site = MT_SITE;
    if (mt_path_open(MT_TIMED, &c, t, MT_CALL_TEST, &site, MT_FRAME))
        return test_one(MT_TIMED, &c, request, flag, status);
    if (mt_path_open(MT_UNTIMED, &c, t, MT_CALL_TEST, &site, MT_FRAME))
        return test_one(MT_UNTIMED, &c, request, flag, status);
    mt_calling = (mt_caller){site, MT_FRAME};
    return cached_Test(request, flag, status);
}

MT_INLINE int wait_for_all(mt_path path, mt_call *c, int count, MPI_Request requests[], MPI_Status statuses[])
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, statuses, count);
    int rc = mt_pmpi.Waitall(count, requests, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS); // a call that failed has a time too
    complete_all(&b, rc, rc == MPI_SUCCESS, requests);
    return rc;
}

static MT_NOINLINE int general_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    mt_call c;
    mt_open(&c, MT_CALL_WAITALL, mt_calling.site, mt_calling.frame);
    return wait_for_all(MT_GENERAL, &c, count, requests, statuses);
}

static MT_NOINLINE int cached_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    if (mt_path_open(MT_CACHED, &c, t, MT_CALL_WAITALL, &mt_calling.site, mt_calling.frame))
        return wait_for_all(MT_CACHED, &c, count, requests, statuses);
    return general_Waitall(count, requests, statuses);
}

MT_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    uint64_t site = MT_SITE;
    if (mt_path_open(MT_TIMED, &c, t, MT_CALL_WAITALL, &site, MT_FRAME))
        return wait_for_all(MT_TIMED, &c, count, requests, statuses);
    if (mt_path_open(MT_UNTIMED, &c, t, MT_CALL_WAITALL, &site, MT_FRAME))
        return wait_for_all(MT_UNTIMED, &c, count, requests, statuses);
    mt_calling = (mt_caller){site, MT_FRAME};
    return cached_Waitall(count, requests, statuses);
}

MT_INLINE int test_all(mt_path path, mt_call *c, int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, statuses, count);
    int rc = mt_pmpi.Testall(count, requests, flag, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS); // a call that failed has a time too
    complete_all(&b, rc, rc == MPI_SUCCESS && *flag, requests);
    return rc;
}

static MT_NOINLINE int general_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    mt_call c;
    mt_open(&c, MT_CALL_TESTALL, mt_calling.site, mt_calling.frame);
    return test_all(MT_GENERAL, &c, count, requests, flag, statuses);
}

static MT_NOINLINE int cached_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    if (mt_path_open(MT_CACHED, &c, t, MT_CALL_TESTALL, &mt_calling.site, mt_calling.frame))
        return test_all(MT_CACHED, &c, count, requests, flag, statuses);
    return general_Testall(count, requests, flag, statuses);
}

MT_EXPORT int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    uint64_t site = MT_SITE;
    if (mt_path_open(MT_TIMED, &c, t, MT_CALL_TESTALL, &site, MT_FRAME))
        return test_all(MT_TIMED, &c, count, requests, flag, statuses);
    if (mt_path_open(MT_UNTIMED, &c, t, MT_CALL_TESTALL, &site, MT_FRAME))
        return test_all(MT_UNTIMED, &c, count, requests, flag, statuses);
    mt_calling = (mt_caller){site, MT_FRAME};
    return cached_Testall(count, requests, flag, statuses);
}

MT_INLINE int wait_for_any(mt_path path, mt_call *c, int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, status, 1);
    int rc = mt_pmpi.Waitany(count, requests, index, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS); // a call that failed has a time too
    complete_one(&b, rc, rc == MPI_SUCCESS && *index != MPI_UNDEFINED, index, requests);
    return rc;
}

static MT_NOINLINE int general_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    mt_call c;
    mt_open(&c, MT_CALL_WAITANY, mt_calling.site, mt_calling.frame);
    return wait_for_any(MT_GENERAL, &c, count, requests, index, status);
}

static MT_NOINLINE int cached_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    if (mt_path_open(MT_CACHED, &c, t, MT_CALL_WAITANY, &mt_calling.site, mt_calling.frame))
        return wait_for_any(MT_CACHED, &c, count, requests, index, status);
    return general_Waitany(count, requests, index, status);
}

MT_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    uint64_t site = MT_SITE;
    if (mt_path_open(MT_TIMED, &c, t, MT_CALL_WAITANY, &site, MT_FRAME))
        return wait_for_any(MT_TIMED, &c, count, requests, index, status);
    if (mt_path_open(MT_UNTIMED, &c, t, MT_CALL_WAITANY, &site, MT_FRAME))
        return wait_for_any(MT_UNTIMED, &c, count, requests, index, status);
    mt_calling = (mt_caller){site, MT_FRAME};
    return cached_Waitany(count, requests, index, status);
}

MT_INLINE int test_any(mt_path path, mt_call *c, int count, MPI_Request requests[], int *index, int *flag,
                       MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, status, 1);
    int rc = mt_pmpi.Testany(count, requests, index, flag, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS); // a call that failed has a time too
    complete_one(&b, rc, rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED, index, requests);
    return rc;
}

static MT_NOINLINE int general_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    mt_call c;
    mt_open(&c, MT_CALL_TESTANY, mt_calling.site, mt_calling.frame);
    return test_any(MT_GENERAL, &c, count, requests, index, flag, status);
}

static MT_NOINLINE int cached_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    if (mt_path_open(MT_CACHED, &c, t, MT_CALL_TESTANY, &mt_calling.site, mt_calling.frame))
        return test_any(MT_CACHED, &c, count, requests, index, flag, status);
    return general_Testany(count, requests, index, flag, status);
}

MT_EXPORT int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    uint64_t site = MT_SITE;
    if (mt_path_open(MT_TIMED, &c, t, MT_CALL_TESTANY, &site, MT_FRAME))
        return test_any(MT_TIMED, &c, count, requests, index, flag, status);
    if (mt_path_open(MT_UNTIMED, &c, t, MT_CALL_TESTANY, &site, MT_FRAME))
        return test_any(MT_UNTIMED, &c, count, requests, index, flag, status);
    mt_calling = (mt_caller){site, MT_FRAME};
    return cached_Testany(count, requests, index, flag, status);
}

MT_INLINE int wait_for_some(mt_path path, mt_call *c, int count, MPI_Request requests[], int *outcount, int indices[],
                            MPI_Status statuses[])
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, statuses, count);
    int rc = mt_pmpi.Waitsome(count, requests, outcount, indices, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS); // a call that failed has a time too
    mt_completion_settle_some(&b, rc, has_results(rc) ? *outcount : MPI_UNDEFINED, indices, requests);
    return rc;
}

static MT_NOINLINE int general_Waitsome(int count, MPI_Request requests[], int *outcount, int indices[],
                                      MPI_Status statuses[])
{
    mt_call c;
    mt_open(&c, MT_CALL_WAITSOME, mt_calling.site, mt_calling.frame);
    return wait_for_some(MT_GENERAL, &c, count, requests, outcount, indices, statuses);
}

static MT_NOINLINE int cached_Waitsome(int count, MPI_Request requests[], int *outcount, int indices[],
                                      MPI_Status statuses[])
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    if (mt_path_open(MT_CACHED, &c, t, MT_CALL_WAITSOME, &mt_calling.site, mt_calling.frame))
        return wait_for_some(MT_CACHED, &c, count, requests, outcount, indices, statuses);
    return general_Waitsome(count, requests, outcount, indices, statuses);
}

MT_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    uint64_t site = MT_SITE;
    if (mt_path_open(MT_TIMED, &c, t, MT_CALL_WAITSOME, &site, MT_FRAME))
        return wait_for_some(MT_TIMED, &c, count, requests, outcount, indices, statuses);
    if (mt_path_open(MT_UNTIMED, &c, t, MT_CALL_WAITSOME, &site, MT_FRAME))
        return wait_for_some(MT_UNTIMED, &c, count, requests, outcount, indices, statuses);
    mt_calling = (mt_caller){site, MT_FRAME};
    return cached_Waitsome(count, requests, outcount, indices, statuses);
}

MT_INLINE int test_some(mt_path path, mt_call *c, int count, MPI_Request requests[], int *outcount, int indices[],
                        MPI_Status statuses[])
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, statuses, count);
    int rc = mt_pmpi.Testsome(count, requests, outcount, indices, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS); // a call that failed has a time too
    mt_completion_settle_some(&b, rc, has_results(rc) ? *outcount : MPI_UNDEFINED, indices, requests);
    return rc;
}

static MT_NOINLINE int general_Testsome(int count, MPI_Request requests[], int *outcount, int indices[],
                                      MPI_Status statuses[])
{
    mt_call c;
    mt_open(&c, MT_CALL_TESTSOME, mt_calling.site, mt_calling.frame);
    return test_some(MT_GENERAL, &c, count, requests, outcount, indices, statuses);
}

static MT_NOINLINE int cached_Testsome(int count, MPI_Request requests[], int *outcount, int indices[],
                                      MPI_Status statuses[])
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    if (mt_path_open(MT_CACHED, &c, t, MT_CALL_TESTSOME, &mt_calling.site, mt_calling.frame))
        return test_some(MT_CACHED, &c, count, requests, outcount, indices, statuses);
    return general_Testsome(count, requests, outcount, indices, statuses);
}

MT_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    uint64_t site = MT_SITE;
    if (mt_path_open(MT_TIMED, &c, t, MT_CALL_TESTSOME, &site, MT_FRAME))
        return test_some(MT_TIMED, &c, count, requests, outcount, indices, statuses);
    if (mt_path_open(MT_UNTIMED, &c, t, MT_CALL_TESTSOME, &site, MT_FRAME))
        return test_some(MT_UNTIMED, &c, count, requests, outcount, indices, statuses);
    mt_calling = (mt_caller){site, MT_FRAME};
    return cached_Testsome(count, requests, outcount, indices, statuses);
}

MT_INLINE int look_at_request(mt_path path, mt_call *c, MPI_Request request, int *flag, MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, 1);
    mt_completion_open(&b, 1, &request, status, 1);
    int rc = mt_pmpi.Request_get_status(request, flag, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS); // a call that failed has a time too
    look_at_one(&b, rc, rc == MPI_SUCCESS && *flag, &request);
    return rc;
}

static MT_NOINLINE int general_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    mt_call c;
    mt_open(&c, MT_CALL_REQUEST_GET_STATUS, mt_calling.site, mt_calling.frame);
    return look_at_request(MT_GENERAL, &c, request, flag, status);
}

static MT_NOINLINE int cached_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    if (mt_path_open(MT_CACHED, &c, t, MT_CALL_REQUEST_GET_STATUS, &mt_calling.site, mt_calling.frame))
        return look_at_request(MT_CACHED, &c, request, flag, status);
    return general_Request_get_status(request, flag, status);
}

MT_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    mt_call c;
    mt_thread *t = mt_quick_self;
    uint64_t site = MT_SITE;
    if (mt_path_open(MT_TIMED, &c, t, MT_CALL_REQUEST_GET_STATUS, &site, MT_FRAME))
        return look_at_request(MT_TIMED, &c, request, flag, status);
    if (mt_path_open(MT_UNTIMED, &c, t, MT_CALL_REQUEST_GET_STATUS, &site, MT_FRAME))
        return look_at_request(MT_UNTIMED, &c, request, flag, status);
    mt_calling = (mt_caller){site, MT_FRAME};
    return cached_Request_get_status(request, flag, status);
}

#if MT_HAVE_Request_get_status_all
MT_EXPORT int MPI_Request_get_status_all(int count, const MPI_Request array_of_requests[], int *flag,
                                         MPI_Status *array_of_statuses)
{
    mt_call c;
    mt_open(&c, MT_CALL_REQUEST_GET_STATUS_ALL, MT_SITE, MT_FRAME);
    mt_begin_count(&c, count);
    mt_completion b;
    mt_completion_open(&b, count, array_of_requests, array_of_statuses, count);
    int rc = mt_pmpi.Request_get_status_all(count, array_of_requests, flag, b.statuses);
    mt_end(&c, rc);
    for (int i = 0; rc == MPI_SUCCESS && *flag && i < b.count; i++)
        mt_completion_look_at(&b, i, rc, &b.statuses[i]);
    mt_completion_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Request_get_status_any(int count, const MPI_Request array_of_requests[], int *index, int *flag,
                                         MPI_Status *status)
{
    mt_call c;
    mt_open(&c, MT_CALL_REQUEST_GET_STATUS_ANY, MT_SITE, MT_FRAME);
    mt_begin_count(&c, count);
    mt_completion b;
    mt_completion_open(&b, count, array_of_requests, status, 1);
    int rc = mt_pmpi.Request_get_status_any(count, array_of_requests, index, flag, b.statuses);
    mt_end(&c, rc);
    if (rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED)
        mt_completion_look_at(&b, *index, rc, b.statuses);
    mt_completion_close(&b, rc, array_of_requests);
    return rc;
}

MT_EXPORT int MPI_Request_get_status_some(int incount, const MPI_Request array_of_requests[], int *outcount,
                                          int array_of_indices[], MPI_Status *array_of_statuses)
{
    mt_call c;
    mt_open(&c, MT_CALL_REQUEST_GET_STATUS_SOME, MT_SITE, MT_FRAME);
    mt_begin_count(&c, incount);
    mt_completion b;
    mt_completion_open(&b, incount, array_of_requests, array_of_statuses, incount);
    int rc = mt_pmpi.Request_get_status_some(incount, array_of_requests, outcount, array_of_indices, b.statuses);
    mt_end(&c, rc);
    for (int k = 0; rc == MPI_SUCCESS && *outcount != MPI_UNDEFINED && k < *outcount; k++)
        mt_completion_look_at(&b, array_of_indices[k], rc, &b.statuses[k]);
    mt_completion_close(&b, rc, array_of_requests);
    return rc;
}
#endif

// An active receive that is freed can never be seen to complete.
MT_EXPORT int MPI_Request_free(MPI_Request *request)
{
    mt_call c;
    mt_open(&c, MT_CALL_REQUEST_FREE, MT_SITE, MT_FRAME);
    mt_request e;
    bool found = mt_on() && request && mt_table_take(&mt_objects.requests, MT_KEY(*request), &e);
    int rc = mt_pmpi.Request_free(request);
    mt_end(&c, rc);
    if (found && rc != MPI_SUCCESS)
        mt_table_put(&mt_objects.requests, &e);
    else if (found)
        mt_request_freed(&e);
    return rc;
}

MT_EXPORT int MPI_Cancel(MPI_Request *request)
{
    mt_call c;
    mt_open(&c, MT_CALL_CANCEL, MT_SITE, MT_FRAME);
    atomic_store_explicit(&mt_objects.any_cancelled, true, memory_order_relaxed);
    int rc = mt_pmpi.Cancel(request);
    mt_end(&c, rc);
    if (rc == MPI_SUCCESS && mt_on())
        mt_request_cancelled(&c.span, *request);
    return rc;
}

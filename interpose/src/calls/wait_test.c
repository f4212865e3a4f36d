// The wrappers of calls that look at several requests, cancel a request or free it. Those of
// calls that wait for requests or test them are generated: see wait_test.h.
#include "calls/completion.h"
#include "calls/policy.h"

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

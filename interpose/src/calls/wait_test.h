// What the calls do that wait for requests or test them: one function for each call, which
// is inlined into its generated wrapper for each path of call.h. The call is recorded as
// successful, so that one that failed has a time too.
#ifndef MT_WAIT_TEST_H
#define MT_WAIT_TEST_H

#include "calls/completion.h"
#include "calls/policy.h"

// Reports whether the results of a call are valid, for all or some of its requests. If not,
// nothing completed, and a flag or an index may not have been written, or may be NULL.
MT_INLINE bool mt_has_results(int rc)
{
    return rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS;
}

MT_INLINE void mt_complete_one(mt_completion *b, int rc, bool done, const int *index, const MPI_Request requests[])
{
    if (b->count && (done || rc != MPI_SUCCESS || b->taken || b->memory))
        mt_completion_settle_one(b, rc, done, index, requests);
}

MT_INLINE void mt_complete_all(mt_completion *b, int rc, bool done, const MPI_Request requests[])
{
    if (b->count)
        mt_completion_settle_all(b, rc, done, requests);
}

MT_INLINE int mt_path_wait(mt_path path, mt_call *c, MPI_Request *request, MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, 1);
    mt_completion_open_one(&b, request, status);
    int rc = mt_pmpi.Wait(request, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS);
    mt_complete_one(&b, rc, rc == MPI_SUCCESS, NULL, request);
    return rc;
}

MT_INLINE int mt_path_test(mt_path path, mt_call *c, MPI_Request *request, int *flag, MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, 1);
    mt_completion_open_one(&b, request, status);
    int rc = mt_pmpi.Test(request, flag, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS);
    mt_complete_one(&b, rc, rc == MPI_SUCCESS && *flag, NULL, request);
    return rc;
}

MT_INLINE int mt_path_waitall(mt_path path, mt_call *c, int count, MPI_Request requests[], MPI_Status statuses[])
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, statuses, count);
    int rc = mt_pmpi.Waitall(count, requests, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS);
    mt_complete_all(&b, rc, rc == MPI_SUCCESS, requests);
    return rc;
}

MT_INLINE int mt_path_testall(mt_path path, mt_call *c, int count, MPI_Request requests[], int *flag,
                              MPI_Status statuses[])
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, statuses, count);
    int rc = mt_pmpi.Testall(count, requests, flag, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS);
    mt_complete_all(&b, rc, rc == MPI_SUCCESS && *flag, requests);
    return rc;
}

MT_INLINE int mt_path_waitany(mt_path path, mt_call *c, int count, MPI_Request requests[], int *index,
                              MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, status, 1);
    int rc = mt_pmpi.Waitany(count, requests, index, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS);
    mt_complete_one(&b, rc, rc == MPI_SUCCESS && *index != MPI_UNDEFINED, index, requests);
    return rc;
}

MT_INLINE int mt_path_testany(mt_path path, mt_call *c, int count, MPI_Request requests[], int *index, int *flag,
                              MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, status, 1);
    int rc = mt_pmpi.Testany(count, requests, index, flag, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS);
    mt_complete_one(&b, rc, rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED, index, requests);
    return rc;
}

MT_INLINE int mt_path_waitsome(mt_path path, mt_call *c, int count, MPI_Request requests[], int *outcount,
                               int indices[], MPI_Status statuses[])
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, statuses, count);
    int rc = mt_pmpi.Waitsome(count, requests, outcount, indices, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS);
    mt_completion_settle_some(&b, rc, mt_has_results(rc) ? *outcount : MPI_UNDEFINED, indices, requests);
    return rc;
}

MT_INLINE int mt_path_testsome(mt_path path, mt_call *c, int count, MPI_Request requests[], int *outcount,
                               int indices[], MPI_Status statuses[])
{
    mt_completion b;
    mt_path_begin_count(path, c, count);
    mt_completion_open(&b, count, requests, statuses, count);
    int rc = mt_pmpi.Testsome(count, requests, outcount, indices, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS);
    mt_completion_settle_some(&b, rc, mt_has_results(rc) ? *outcount : MPI_UNDEFINED, indices, requests);
    return rc;
}

MT_INLINE int mt_path_request_get_status(mt_path path, mt_call *c, MPI_Request request, int *flag, MPI_Status *status)
{
    mt_completion b;
    mt_path_begin_count(path, c, 1);
    mt_completion_open(&b, 1, &request, status, 1);
    int rc = mt_pmpi.Request_get_status(request, flag, b.statuses);
    mt_path_end_empty(path, c, MPI_SUCCESS);
    if (b.count)
        mt_completion_settle_status(&b, rc, rc == MPI_SUCCESS && *flag, &request);
    return rc;
}

#endif

// The requests of a completion call: their entries before the call, and how they completed.
#ifndef MT_COMPLETION_H
#define MT_COMPLETION_H

#include "calls/policy.h"

enum { MT_COMPLETION_LOCAL = 32 };

typedef struct mt_completion {
    int count;              // 0 if no request is followed: the call is passed on as it is
    bool taken;             // the entries are out of the table; else they are looked up by handle
    bool own_statuses;
    MPI_Request *handles;   // as the program passed them
    mt_request *entries;    // if taken; key 0 if the request is not followed
    MPI_Status *statuses;   // the program's, or ours if it ignores them
    void *memory;           // of the handles and statuses: the thread's or malloc'ed, or NULL
    size_t size;
    void *more;             // of the entries: malloc'ed, or NULL
    MPI_Request local_handles[MT_COMPLETION_LOCAL];
    MPI_Status local_statuses[MT_COMPLETION_LOCAL];
    mt_request local[MT_COMPLETION_LOCAL];
} mt_completion;

void mt_completion_fill(mt_completion *b, int count, const MPI_Request requests[], MPI_Status *statuses,
                        int wanted) MT_NOINLINE;

// Keeps the handles of the requests, and takes their entries out of the table if that has
// to be done before the call. `statuses` is what the program passed, and `wanted` is how
// many the call may fill.
MT_INLINE void mt_completion_open(mt_completion *b, int count, const MPI_Request requests[], MPI_Status *statuses,
                                  int wanted)
{
    b->count = 0;
    b->statuses = statuses;
    if (mt_requests_any())
        mt_completion_fill(b, count, requests, statuses, wanted);
}

// Does what mt_completion_open does, for a call that is given one request.
MT_INLINE void mt_completion_open_one(mt_completion *b, const MPI_Request *request, MPI_Status *status)
{
    b->count = 0;
    b->statuses = status;
    if (!mt_requests_any())
        return;
    if (mt_unlikely(mt_take_before_call()) || !request || !mt_on()) {
        mt_completion_fill(b, 1, request, status, 1);
        return;
    }
    b->count = 1;
    b->taken = false;
    b->memory = b->more = NULL;
    b->handles = b->local_handles;
    b->handles[0] = *request;
    if (status == MPI_STATUS_IGNORE) {
        b->statuses = b->local_statuses;
        b->statuses[0].MPI_SOURCE = MT_NO_RANK; // until the MPI fills it
    }
}

// Puts back the entries of requests that did not complete. Records those that failed: these
// are MPI_REQUEST_NULL in `requests`.
void mt_completion_close(mt_completion *b, int rc, const MPI_Request requests[]);

// These three run after a call that completes one request (if `done`), all, or some.
void mt_completion_settle_one(mt_completion *b, int rc, bool done, const int *index,
                              const MPI_Request requests[]) MT_NOINLINE;
void mt_completion_settle_all(mt_completion *b, int rc, bool done, const MPI_Request requests[]) MT_NOINLINE;
void mt_completion_settle_some(mt_completion *b, int rc, int n, const int indices[], const MPI_Request requests[]);

// Runs after MPI_Request_get_status, as those above. The request stays valid.
void mt_completion_settle_status(mt_completion *b, int rc, bool done, const MPI_Request requests[]);

// Records a completion that MPI_Request_get_status reported. The request stays valid, and a
// later Wait must not record it again.
void mt_completion_look_at(mt_completion *b, int i, int rc, const MPI_Status *status);

#endif

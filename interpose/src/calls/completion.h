// The requests of a completion call: their entries before the call, and how they completed.
#ifndef MT_COMPLETION_H
#define MT_COMPLETION_H

#include "calls/leave.h"

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

// Records that request i completed with this status.
void mt_completion_done(mt_completion *b, int i, const MPI_Status *status);

// Records a truncated message if that is the error `rc` of the call. The request is the one
// at `index`, or the only one if `index` is NULL.
void mt_completion_one_failed(mt_completion *b, const int *index, int rc, const MPI_Request requests[]);

// Records that all requests completed, each with its own status. `rc` and `requests` are as
// the call left them.
void mt_completion_all_done(mt_completion *b, int rc, const MPI_Request requests[]);

// The same for the `n` requests whose indices are in `indices`.
void mt_completion_some_done(mt_completion *b, int rc, int n, const int indices[], const MPI_Request requests[]);

// Puts back the entries of requests that did not complete. Records those that failed: these
// are MPI_REQUEST_NULL in `requests`.
void mt_completion_close(mt_completion *b, int rc, const MPI_Request requests[]);

#endif

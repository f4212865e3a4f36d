// Requests handed to a completion call: their entries before, and what became
// of them after.
#ifndef MT_COMPLETION_H
#define MT_COMPLETION_H

#include "calls/leave.h"

enum { MT_COMPLETION_LOCAL = 32 };

typedef struct mt_completion {
    int count;              // 0: nothing is followed, all is passed on
    bool taken;             // the entries are out of the table: else they are looked up by handle
    bool own_statuses;
    MPI_Request *handles;   // as they were
    mt_request *entries;    // once taken; key 0 where the request is not followed
    MPI_Status *statuses;   // the program's, or ours where it ignores them
    void *memory;           // of the handles and statuses: the thread's or malloc'ed; or NULL
    size_t size;
    void *more;             // of the entries: malloc'ed, or NULL
    MPI_Request local_handles[MT_COMPLETION_LOCAL];
    MPI_Status local_statuses[MT_COMPLETION_LOCAL];
    mt_request local[MT_COMPLETION_LOCAL];
} mt_completion;

void mt_completion_fill(mt_completion *b, int count, const MPI_Request requests[], MPI_Status *statuses,
                        int wanted) MT_APART;

// Remembers the requests, and takes their entries out of the table if it must be
// now. `statuses` is what the program passed; `wanted` how many the call may fill.
MT_INLINE void mt_completion_open(mt_completion *b, int count, const MPI_Request requests[], MPI_Status *statuses,
                                  int wanted)
{
    b->count = 0;
    b->statuses = statuses;
    if (mt_any_followed())
        mt_completion_fill(b, count, requests, statuses, wanted);
}

// Request i completed with the given status.
void mt_completion_done(mt_completion *b, int i, const MPI_Status *status);

// The call failed with `rc`: perhaps since the request at `index`, or the only
// one if that is NULL, completed with this error.
void mt_completion_one_failed(mt_completion *b, const int *index, int rc, const MPI_Request requests[]);

// All completed, each with its own status; `rc` and `requests` as the call left
// them.
void mt_completion_all_done(mt_completion *b, int rc, const MPI_Request requests[]);

// As above for the `n` that `indices` name.
void mt_completion_some_done(mt_completion *b, int rc, int n, const int indices[], const MPI_Request requests[]);

// Puts back what did not complete; counts what failed, which `requests` shows
// as MPI_REQUEST_NULL.
void mt_completion_close(mt_completion *b, int rc, const MPI_Request requests[]);

#endif

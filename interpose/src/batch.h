// Requests handed to a completion call: their entries before, and what became
// of them after.
#ifndef MT_BATCH_H
#define MT_BATCH_H

#include "leave.h"

enum { MT_BATCH_LOCAL = 16 };

typedef struct mt_batch {
    int count;              // 0: nothing is followed, all is passed on
    mt_request *entries;    // taken out; key 0 where the request is not followed
    MPI_Status *statuses;   // the program's, or ours where it ignores them
    bool own_statuses;
    void *memory;           // malloc'ed, or NULL
    mt_request local[MT_BATCH_LOCAL];
    MPI_Status local_statuses[MT_BATCH_LOCAL];
} mt_batch;

// Takes the entries of the requests out of the table. `statuses` is what the
// program passed; `wanted` how many the call may fill.
void mt_batch_open(mt_batch *b, int count, const MPI_Request requests[], MPI_Status *statuses, int wanted);

// Request i completed with the given status.
void mt_batch_done(mt_batch *b, int i, const MPI_Status *status);

// The call failed with `rc`: perhaps since the request at `index`, or the only
// one if that is NULL, completed with this error.
void mt_batch_one_failed(mt_batch *b, const int *index, int rc, const MPI_Request requests[]);

// All completed, each with its own status; `rc` and `requests` as the call left
// them.
void mt_batch_all_done(mt_batch *b, int rc, const MPI_Request requests[]);

// As above for the `n` that `indices` name.
void mt_batch_some_done(mt_batch *b, int rc, int n, const int indices[], const MPI_Request requests[]);

// Puts back what did not complete; counts what failed, which `requests` shows
// as MPI_REQUEST_NULL.
void mt_batch_close(mt_batch *b, int rc, const MPI_Request requests[]);

#endif

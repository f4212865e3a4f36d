// Requests that have something left to tell: receives (who sent how much is
// known when they complete), persistent ones, communicators to come. Sends are
// counted where they start and are not followed.
//
// An entry is taken out of the table before the MPI may free the handle, since
// another thread can be given the same handle at once, and put back if the
// request did not complete.
#ifndef MT_REQUEST_H
#define MT_REQUEST_H

#include "comm.h"
#include "record.h"

typedef enum mt_request_kind {
    MT_RECEIVE,
    MT_PERSISTENT_SEND,
    MT_PERSISTENT_RECEIVE,
    MT_PERSISTENT_COLL,
    MT_NEW_COMM,
} mt_request_kind;

typedef struct mt_request {
    uint64_t key; // the handle; 0 in an empty place
    uint64_t site;
    mt_comm *comm;
    union {
        uint64_t bytes; // of a persistent send
        void *extra;    // mt_request_promise or mt_volume_fixed, malloc'ed
    };
    int32_t peer;
    uint32_t slice;
    uint16_t call;
    uint8_t kind;
    bool active;    // a persistent one that was started
    bool counted;   // its completion was seen by Request_get_status
    bool cancelled;
} mt_request;

// A communicator that Comm_idup will have written to `made`.
typedef struct mt_request_promise {
    mt_comm_origin origin;
    MPI_Comm *made;
} mt_request_promise;

// Open addressing, one table of requests and one of matched messages.
typedef struct mt_table mt_table;
extern mt_table mt_requests, mt_messages;

void mt_table_put(mt_table *table, const mt_request *entry);
bool mt_table_take(mt_table *table, uint64_t key, mt_request *entry);

// How many entries there are: a hint that saves the look-up.
extern _Atomic int64_t mt_request_count;

// A request completed with this status: books what it tells. A persistent one
// goes back into the table, inactive.
void mt_request_done(mt_request *entry, const MPI_Status *status);

// A request that failed, or was freed: gone, or inactive if persistent.
void mt_request_failed(mt_request *entry);

// Its status was asked for without completing it.
void mt_request_looked_at(mt_request *entry, const MPI_Status *status);

// It was freed by the program.
void mt_request_freed(mt_request *entry);

// Remembers a posted receive.
void mt_request_receive(const mt_span *s, MPI_Request request, mt_comm *comm, int source);

// A persistent request was started by the call `s`: books its messages, and
// with `timed` (Start, but not Startall) the call itself.
void mt_request_started(mt_span *s, MPI_Request request, bool timed, uint64_t ticks);

#endif

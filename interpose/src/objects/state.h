// The state of the layer objects/ that other layers read.
#ifndef MT_OBJECTS_STATE_H
#define MT_OBJECTS_STATE_H

#include "base/base.h"

#include <pthread.h>

enum { MT_SHARDS = 16 };       // of a table
enum { MT_POSTED_ROOM = 512 }; // a power of two

// A part of a table, with the lock that guards it (MT_LOCK_REQUESTS).
typedef struct mt_shard {
    pthread_mutex_t lock;
    struct mt_request *entries; // key 0 in an empty slot
    uint64_t capacity, used;
} __attribute__((aligned(64))) mt_shard;

// A hash table with open addressing: see request.h.
typedef struct mt_table {
    mt_shard shards[MT_SHARDS];
} mt_table;

// A posted receive: the key of its row without the source and the size, which its status will have.
// Its communicator, peer, slice and call are packed as in mt_current_call.
typedef struct mt_posted {
    uint64_t key; // the handle
    uint64_t site, place, what;
    uint32_t number; // of the request in its events; 0 without a trace
} mt_posted;

// The posted receive queue: see posted.h.
typedef struct mt_posted_queue {
    uint32_t head, tail; // the oldest receive, and the slot after the newest; used modulo MT_POSTED_ROOM
    uint32_t room;       // MT_POSTED_ROOM, or 0 if receives go to the table
    mt_posted posted[MT_POSTED_ROOM];
} mt_posted_queue;

// The comment of each field states who writes it, and when.
typedef struct mt_objects_state {
    // Number of requests and messages that are followed: the entries of the tables below, and of
    // the queue of posted receives. Written by request.c and posted.c from any thread, with locked
    // instructions if threads use MPI at the same time.
    _Atomic int64_t request_count;

    // The program passed MPI a function to call, for an error handler or a generalized
    // request. Written by calls/, before MPI can call the function.
    _Atomic bool callbacks;

    // Written by calls/, before the first MPI_Cancel. From then on MPI_Test_cancelled is
    // called for each receive that completes, since a receive that another thread waits for
    // may be in no table when it is cancelled.
    _Atomic bool any_cancelled;

    // mt_status_fields agrees with the MPI's own function. Written by status.c, in
    // MPI_Init.
    bool status_trusted;

    // Where a status of the standard ABI has its count: in `reserved`, the low half in word
    // status_word and the high half in the next one, above this number of bits with flags.
    // Written by status.c, in MPI_Init.
    uint8_t status_word, status_flags;

    // The requests and the matched messages that are followed. Written by request.c, for
    // any thread: under the lock of the shard once threads use MPI at the same time
    // (mt_process.multiple).
    mt_table requests, messages;

    // The receives that complete in the order of posting. Written by posted.c, for the
    // thread that uses MPI; empty once threads use it at the same time.
    mt_posted_queue posted;
} mt_objects_state;

extern MT_HIDDEN mt_objects_state mt_objects;

#endif

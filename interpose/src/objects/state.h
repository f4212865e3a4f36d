// The state of the layer objects/ that others read.
#ifndef MT_OBJECTS_STATE_H
#define MT_OBJECTS_STATE_H

#include "base/base.h"

// Behind each word is who writes it, and when.
typedef struct mt_objects_state {
    // How many entries the tables of requests have. request.c, from any thread; with
    // locked instructions where threads use MPI at the same time.
    _Atomic int64_t request_count;

    // The program gave MPI a function to call: an error handler, or a generalized
    // request's. calls/, before MPI can call it.
    _Atomic bool callbacks;

    // Set before the first MPI_Cancel, by calls/. From then on each receive is asked
    // whether it was: one that another thread waits for is in no table when it is
    // cancelled.
    _Atomic bool any_cancelled;

    // mt_status_fields was seen to agree with the MPI's own answer. status.c, in
    // MPI_Init.
    bool status_trusted;
} mt_objects_state;

extern MT_OURS mt_objects_state mt_objects;

#endif

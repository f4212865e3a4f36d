// The state of the layer objects/ that other layers read.
#ifndef MT_OBJECTS_STATE_H
#define MT_OBJECTS_STATE_H

#include "base/base.h"

// The comment of each field states who writes it, and when.
typedef struct mt_objects_state {
    // Number of entries in the tables of requests and messages and in the queue of posted
    // receives. Written by these from any thread, with locked instructions if threads use
    // MPI at the same time.
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
} mt_objects_state;

extern MT_HIDDEN mt_objects_state mt_objects;

#endif

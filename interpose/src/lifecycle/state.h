// The state of the layer lifecycle/.
#ifndef MT_LIFECYCLE_STATE_H
#define MT_LIFECYCLE_STATE_H

#include "base/base.h"

// The comment of each field states who writes it, and when.
typedef struct mt_lifecycle_state {
    // Number of models that are open: the world model and sessions. lifecycle.c, under
    // MT_LOCK_LIFECYCLE, when a model is opened and closed.
    int open_models;

    // The last model was closed and the recording ended. lifecycle.c, under the same lock;
    // cleared in a forked child and when a session is opened later.
    bool recording_ended;

    // A thread is in the next MPI_Finalize. init_finalize.c, before and after that call.
    _Atomic bool in_finalize;
} mt_lifecycle_state;

extern MT_HIDDEN mt_lifecycle_state mt_lifecycle;

#endif

// The state of the layer calls/. Of its thread-local data, mt_fortran_noted is in fortran.h.
#ifndef MT_CALLS_STATE_H
#define MT_CALLS_STATE_H

#include "base/base.h"
#include "record/thread.h"

// Both ranges are written by fortran.c, when a Fortran binding is called for the first time,
// under MT_LOCK_BINDINGS, while other threads read them. The thunks read them by their
// offsets (thunks.h).
typedef struct mt_calls_state {
    // The addresses of the file with the MPI's Fortran layer; size 0 until then. Calls that it
    // makes without a note are its own, for example to make datatypes for array sections.
    mt_code_range fortran_layer;

    // The range of addresses from the first to the last file of Fortran bindings. Only a call from
    // this range can be the one that a thunk noted.
    mt_code_range fortran_bindings;
} mt_calls_state;

extern MT_HIDDEN mt_calls_state mt_calls;

// The caller of a wrapper, which the wrapper of a frequent call passes to its functions out
// of line.
extern MT_THREAD_LOCAL mt_caller mt_calling;

#endif

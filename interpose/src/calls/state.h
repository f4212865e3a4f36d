// The state of the layer calls/ of the whole process. What belongs to a thread is in mt_caller
// (call.h) and mt_fortran_call (fortran.h).
#ifndef MT_CALLS_STATE_H
#define MT_CALLS_STATE_H

#include "base/base.h"

// Both ranges are written by fortran.c, when a Fortran binding is called for the first time,
// under MT_LOCK_BINDINGS, while other threads read them. The thunks read them by their
// offsets (thunks.h).
typedef struct mt_calls_state {
    // The addresses of the file with the MPI's Fortran layer; size 0 until then. Calls that it
    // makes without a note are its own, for example to make datatypes for array sections.
    mt_code_range fortran_layer;

    // The addresses of all files of bindings, and what lies between them. Only a call from
    // there can be the one that was noted.
    mt_code_range fortran_bindings;
} mt_calls_state;

extern MT_HIDDEN mt_calls_state mt_calls;

#endif

// Layer 5, calls: what is recorded of a call. The wrappers that are written by hand,
// the policies by which calls are entered and left, completions, the volume of
// collectives, and how calls come from Fortran.
// It calls base/, file/, record/ and objects/.
#ifndef MT_CALLS_LAYER_H
#define MT_CALLS_LAYER_H

#include "record/current_call.h"
#include "calls/completion.h"
#include "calls/fortran.h"
#include "calls/leave.h"
#include "calls/quick.h"
#include "calls/volume.h"

#endif

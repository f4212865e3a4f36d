// Layer 5, calls: what is recorded of a call. The handwritten wrappers, the policies by
// which calls are entered and left, the completion of requests, the volume of collectives,
// and calls from Fortran. It calls base/, file/, record/ and objects/.
#ifndef MT_CALLS_LAYER_H
#define MT_CALLS_LAYER_H

#include "record/current_call.h"
#include "calls/call.h"
#include "calls/completion.h"
#include "calls/fortran.h"
#include "calls/policy.h"
#include "calls/volume.h"

#endif

// Entering calls that are more than two readings of the clock and one row.
#ifndef MT_ENTER_H
#define MT_ENTER_H

#include "base/hook.h"

#include <stdint.h>

// A call of MPI while nothing is recorded: the first, or the first of an MPI that was
// loaded again.
typedef void mt_hook_unrecorded_call(uint64_t site);
MT_HOOK(unrecorded_call);

// A call begins, where performance variables are read by time: is it time?
typedef void mt_hook_time_to_read(void);
MT_HOOK(time_to_read);

#endif

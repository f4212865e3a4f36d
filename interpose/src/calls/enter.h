// Entering calls that are not on the quick path: hooks for the higher layers.
#ifndef MT_ENTER_H
#define MT_ENTER_H

#include "base/hook.h"

#include <stdint.h>

// Hook: MPI was called while nothing is recorded. It may be the first call of the process,
// or the first one of an MPI that was loaded again.
typedef void mt_hook_unrecorded_call(uint64_t site);
MT_HOOK(unrecorded_call);

// Hook: a call begins, while performance variables are read at intervals. Reads them if it
// is time.
typedef void mt_hook_time_to_read(void);
MT_HOOK(time_to_read);

#endif

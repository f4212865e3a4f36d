// Stacks of callers as call sites: for programs that call MPI from one place, a
// wrapper of their own, for many purposes.
#ifndef MT_STACK_H
#define MT_STACK_H

#include "record/modules.h"
#include "record/state.h"

// Reads the setting, once the recording is there and before it is on.
void mt_stack_open(void);

// The key of the stack that leads to `site`, a return address of the wrapper
// that is open; `site` itself if there is no more to tell.
uint64_t mt_stack_site(uint64_t site) MT_SLOW;

#endif

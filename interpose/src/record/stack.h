// Stacks of callers as call sites, for programs that call MPI through wrappers of their
// own: one place in such a wrapper serves many purposes.
#ifndef MT_STACK_H
#define MT_STACK_H

#include "record/modules.h"
#include "record/state.h"

// Reads the setting. Called when the recording has been made, before recording begins.
void mt_stack_open(void);

// Returns the key of the stack that leads to `site`, the return address of the open
// wrapper. Returns `site` itself if the stack cannot be walked or there is no room
// for it.
uint64_t mt_stack_site(uint64_t site) MT_SLOW;

#endif

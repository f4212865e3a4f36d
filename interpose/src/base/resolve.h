// The library links to no MPI: a preload reaches programs that have none, and
// an MPI that was opened with RTLD_LOCAL is not visible to it. The functions
// and handle constants of the MPI are looked up when they are first needed.
#ifndef MT_RESOLVE_H
#define MT_RESOLVE_H

#include "base/symbol.h"

// What another tool that comes before us hides, as layout.StringIntercepted; "" if
// it hides nothing.
const char *mt_intercepted(void);

// Fills mt_pmpi and mt_const, once for each MPI that is loaded. `caller` is an
// address inside the module that called us. False if the MPI found is not the one
// we were built for.
bool mt_resolve(uint64_t caller);

// Whether an MPI was found, and whether it has been unloaded since: a program may
// load a plugin that uses MPI, unload it with its MPI, and load it again. Then what
// was found has to be forgotten.
bool mt_resolve_known(void);
bool mt_resolve_unloaded(void);
void mt_resolve_forget(void);

#endif

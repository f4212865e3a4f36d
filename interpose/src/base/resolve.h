// The library is not linked to an MPI. It may be preloaded into a program without MPI,
// and an MPI that was opened with RTLD_LOCAL is not visible to it. So the functions and
// handle constants of the MPI are looked up when they are first needed.
#ifndef MT_RESOLVE_H
#define MT_RESOLVE_H

#include "base/symbol.h"

// Returns the functions that another tool intercepts before us, in the form of
// layout.StringIntercepted, or "" if there are none.
const char *mt_intercepted(void);

// Fills mt_pmpi and mt_const, once for each MPI that is loaded. `caller` is an address
// inside the module that called us. Returns false if the MPI is not the one that this
// library was built for.
bool mt_resolve(uint64_t caller);

// mt_resolve_found reports whether an MPI was found, and mt_resolve_unloaded whether it
// has been unloaded since. A program may load a plugin that uses MPI, unload it with
// its MPI, and load it again. So mt_resolve_forget then discards what was found.
bool mt_resolve_found(void);
bool mt_resolve_unloaded(void);
void mt_resolve_forget(void);

// Reports whether the MPI that was found is not the one that this library was built for.
bool mt_resolve_wrong(void);

#endif

// Calls of PMPI_x by files that are no tools. No wrapper sees them, so they are not recorded:
// the recording names the functions.
#ifndef MT_DIRECT_H
#define MT_DIRECT_H

#include <stdint.h>

// Notes that a file calls the PMPI function `name` itself; `caller` is the address of its call.
// Does nothing if the file belongs to an MPI or to a tool: a tool that wraps functions passes on
// calls that were recorded already, or functions that mt_intercepted lists. Called once for each
// function, so other files that call the function later are not known.
void mt_direct_called(const char *name, uint64_t caller);

// Notes that MPI was finalized without a call that reached us.
void mt_direct_finalized(void);

// Writes what was noted to the recording. The latest record replaces the earlier ones. While the
// recording is on, this is called for each new name, because a process may be killed.
void mt_direct_log(void);

// Returns the file and, each after a newline, the functions that it and others called, in the
// form of layout.StringDirect; "" if there are none.
const char *mt_direct_calls(void);

#endif

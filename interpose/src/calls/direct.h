// Calls of PMPI_x by files that are no tools. No wrapper sees them, so they are not recorded:
// the recording names the functions.
#ifndef MT_DIRECT_H
#define MT_DIRECT_H

#include <stdint.h>

// Notes the first call of a function, `name`, that came from the address `caller`, unless an
// MPI's own file, or a tool, calls there. A tool that wraps functions passes on calls that we
// have recorded, or that mt_intercepted names. Called once for each function, so the files that
// call it later are not known.
void mt_direct_called(const char *name, uint64_t caller);

// Notes that MPI was finalized without a call that reached us.
void mt_direct_finalized(void);

// Writes what was noted to the recording, where it replaces what was written before. While the
// recording is on, each new name does this, because a process may be killed.
void mt_direct_log(void);

// Returns the file and, each after a newline, the functions that it and others called, in the
// form of layout.StringDirect; "" if there are none.
const char *mt_direct_calls(void);

#endif

// What the process has used of the processor in each slice: CPU time, context
// switches, and how long it was ready to run and had no processor. It is read at
// the end of MPI_Init, at the end of slices and before MPI_Finalize, and never in
// the path of a call. (Cost of a reading: 3 to 6 µs, most of it for /proc/self/schedstat.)
#ifndef MT_USAGE_H
#define MT_USAGE_H

#include "base/base.h"

// What is used from now on belongs to the current slice.
void mt_usage_open(void);

// What was used since the last reading belongs to a slice. For slice.c, under its lock.
void mt_usage_slice_ends(uint32_t slice);

#endif

// What the process used of the processor in each slice: CPU time, context switches, and
// the time in which it was ready to run and had no processor. It is read at the end of
// MPI_Init, at the end of slices and before MPI_Finalize, never on the fast path of a
// call. (Cost of a reading: 3 to 6 µs, most of it for /proc/self/schedstat.)
#ifndef MT_USAGE_H
#define MT_USAGE_H

#include "base/base.h"

// Takes the first reading. What is used from now on belongs to the current slice.
void mt_usage_open(void);

// Adds what was used since the last reading to a slice. slice.c calls it, under its
// lock.
void mt_usage_slice_ends(uint32_t slice);

#endif

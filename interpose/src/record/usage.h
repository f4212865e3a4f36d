// What the process used of the processor in each slice: CPU time, context switches, and
// the time in which it was ready to run and had no processor. It is read at the end of
// MPI_Init, at the end of slices and before MPI_Finalize, never on the fast path of a
// call. (Cost of a reading: 3 to 6 µs, most of it for /proc/self/schedstat.) What each
// thread used is read when it makes its first call, when it ends and before MPI_Finalize.
#ifndef MT_USAGE_H
#define MT_USAGE_H

#include "base/base.h"

// Takes the first reading. What is used from now on belongs to the current slice.
void mt_usage_open(void);

// Adds what was used since the last reading to a slice. slice.c calls it, under its
// lock.
void mt_usage_slice_ends(uint32_t slice);

// What a thread used since it was created, in ns.
typedef struct mt_thread_use {
    uint64_t cpu;
    uint64_t delay; // ready to run and had no processor
} mt_thread_use;

// Reads what a thread of this process used; `thread` is its id, as in /proc/self/task.
// Returns false if the kernel does not count it, or if there is no such thread.
bool mt_usage_of_thread(long thread, mt_thread_use *use);

// Stores in the header how many threads the process has, and how many of them used a
// processor.
void mt_usage_count_threads(void);

#endif

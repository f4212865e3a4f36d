// Slices: the parts of the run that rows are kept apart by. A slice is known by
// its name, which is the same on all processes: that of the phase ("run" at
// first), and with --interval also when the interval began, "solve@1.5s".
#ifndef MT_SLICE_H
#define MT_SLICE_H

#include "record.h"

// Begins slice 0, "run": it has MPI_Init.
void mt_slice_open(void);

// Begins to cut the run into intervals, if the environment says so. The first
// one begins at the end of MPI_Init.
void mt_slice_intervals(void);

// A call begins, in a run that is cut into intervals: is it in the next one?
void mt_slice_look(void);

// MPI_Pcontrol: 0 pauses, 1 goes on, 2 and above is the phase of that name.
//
// What may follow the level is not read: nothing tells whether the program
// passed anything, and reading an argument that is not there can crash it.
void mt_slice_level(int level);

#endif

// Slices: parts of the run, each with rows of its own. A slice is identified by its
// name, which is the same in all processes: the name of the phase ("run" at first), and
// with --interval also the time at which the interval began: "solve@1.5s".
#ifndef MT_SLICE_H
#define MT_SLICE_H

#include "record/record.h"

enum { MT_PHASE_NAME = 200 }; // longest name of a phase in bytes; the rest is cut off

// A phase that gets its name only when it ends. Until then it is called "phase 1", and
// so on. Calls belong to the phase that began last, of this kind or with a name from
// the start.
typedef struct mt_phase {
    char name[24];
    uint32_t first;         // its slices have this index or a higher one
    bool named_before;      // a phase with a name was under way when it began
    struct mt_phase *below; // the phase of this kind that began before it
} mt_phase;

// Called when the current slice ends, under the lock of slices.
typedef void mt_hook_slice_ends(uint32_t slice);
MT_HOOK(slice_ends);

// Begins a phase.
void mt_slice_phase_begins(mt_phase *p);

// Ends the phase. With a name, renames all of its slices.
void mt_slice_phase_ends(mt_phase *p, const char *name);

// Begins slice 0, "run", which contains MPI_Init.
void mt_slice_open(void);

// Ends the current slice, when MPI is about to be finalized.
void mt_slice_close(void);

// Begins to cut the run into intervals, if the setting asks for it. The first interval
// begins at the end of MPI_Init.
void mt_slice_open_intervals(void);

// mt_slice_is_interval reports whether a text is the length of an interval, or "off".
// mt_slice_set_interval cuts the run into intervals of this length from now on. They end at
// multiples of the length since the end of MPI_Init.
bool mt_slice_is_interval(const char *text);
void mt_slice_set_interval(const char *text);

// Called when a call begins in a run that is cut into intervals. Begins the next
// interval if the current one is over.
void mt_slice_check_interval(void);

// MPI_Pcontrol: level 0 pauses recording, 1 resumes it, and 2 and above begin the phase
// that has this number as its name.
//
// Arguments after the level are not read. It is not known whether the program passed
// any, and reading an argument that was not passed can crash it.
void mt_slice_pcontrol(int level);

#endif

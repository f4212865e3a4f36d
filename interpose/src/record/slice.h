// Slices: the parts of the run that rows are kept apart by. A slice is known by
// its name, which is the same on all processes: that of the phase ("run" at
// first), and with --interval also when the interval began, "solve@1.5s".
#ifndef MT_SLICE_H
#define MT_SLICE_H

#include "record/record.h"

enum { MT_PHASE_NAME = 200 }; // bytes of a name that count

// A phase that has no name before it ends: "phase 1", and so on, until then. Calls
// are where the program began a phase last, of this kind or the other.
typedef struct mt_phase {
    char name[24];
    uint32_t first;         // its slices have this index or a later one
    bool named_before;      // one with a name was under way when it began
    struct mt_phase *below; // begun before
} mt_phase;

// The current slice ends. Under the lock of slices.
typedef void mt_hook_slice_ends(uint32_t slice);
MT_HOOK(slice_ends);

void mt_slice_phase_begins(mt_phase *p);

// With a name, all of the phase's slices are called by it.
void mt_slice_phase_ends(mt_phase *p, const char *name);

// Begins slice 0, "run": it has MPI_Init.
void mt_slice_open(void);

// The current slice ends, as MPI is about to be finalized.
void mt_slice_close(void);

// Begins to cut the run into intervals, if a setting says so. The first one
// begins at the end of MPI_Init.
void mt_slice_intervals(void);

// Whether a text is the length of an interval, or off; and cutting the run into
// such ones from now on: multiples of the length since the end of MPI_Init.
bool mt_slice_is_length(const char *text);
void mt_slice_cut(const char *text);

// A call begins, in a run that is cut into intervals: is it in the next one?
void mt_slice_look(void);

// MPI_Pcontrol: 0 pauses, 1 goes on, 2 and above is the phase of that name.
//
// What may follow the level is not read: nothing tells whether the program
// passed anything, and reading an argument that is not there can crash it.
void mt_slice_level(int level);

#endif

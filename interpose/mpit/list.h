#ifndef LIST_H
#define LIST_H

#include <stdbool.h>

#include "line.h"

// The steps in which the library is asked about an entry, in this order.
enum step { STEP_COUNT, STEP_INFO, STEP_HANDLE, STEP_READ };

// Records that a step of the current entry begins. Returns false if the step is to be
// left out, because a child crashed in it.
bool begin_step(enum step step);

extern bool after_init; // MPI_Init was called

// Writes a line of the list.
void list_line(struct line *l);

// Reports whether a call failed. If so, lists the error.
bool failed(int code, const char *call);

void list_cvar(int index);
void list_pvar(int index);
void list_category(int index);
void list_event(int index);
void list_source(int index);

#endif

#ifndef LIST_H
#define LIST_H

#include <stdbool.h>

#include "line.h"

// What is asked of the library about an entry, in this order.
enum step { STEP_COUNT, STEP_INFO, STEP_HANDLE, STEP_READ };

// Tells whether to take a step: not if a child has died of it.
bool may(enum step step);

extern bool after_init; // MPI_Init was called

// Writes a line of the list.
void emit(struct line *l);

// Tells whether a call failed, and if so lists that.
bool failed(int code, const char *call);

void list_cvar(int index);
void list_pvar(int index);
void list_category(int index);
void list_event(int index);
void list_source(int index);

#endif

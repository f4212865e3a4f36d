// The threads that have a table.
#ifndef MT_THREAD_H
#define MT_THREAD_H

#include "base/base.h"

// Gives the calling thread a table; NULL if there is no room.
mt_thread *mt_thread_attach(void);

// Calls visit for every table there is.
void mt_thread_each(void (*visit)(void *, mt_thread *), void *argument);

// record.c: the first table of rows.
bool mt_table_open(mt_thread *t);

#endif

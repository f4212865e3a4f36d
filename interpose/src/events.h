// The files of events: one that is mapped, beside the recording, and one in the
// run directory for chunks that had to make room.
#ifndef MT_EVENTS_H
#define MT_EVENTS_H

#include "mt.h"

// Makes the mapped file; NULL if that cannot be.
mt_l_eventsheader *mt_events_open(void);

// Maps its next chunk, all zeros; NULL if there is no room.
mt_l_chunk *mt_events_chunk(uint64_t index);

// Writes a chunk into the other file, behind `index` others; false if it cannot be
// written, which is said. The file is as long as it was then.
bool mt_events_spill(const mt_l_chunk *chunk, uint64_t index);

// Takes the mapped file away: this process is not to be traced after all.
void mt_events_remove(void);

// The process has made its last event: copies the mapped file into the run
// directory if it had to be made elsewhere.
void mt_events_close(void);

#endif

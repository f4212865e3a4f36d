// The files of events: one beside the recording, with the chunks that threads
// fill, which are mapped, and those that they have filled; and one in the run
// directory for what the first has no room for.
#ifndef MT_EVENTS_H
#define MT_EVENTS_H

#include "mt.h"

// Makes the file beside the recording; NULL if that cannot be.
mt_l_eventsheader *mt_events_open(void);

// Maps a chunk more of it, all zeros; NULL if there is no room, which is said, and
// what comes of being without.
mt_l_chunk *mt_events_map(const char *without);

// Writes a chunk behind the others in that file, or in the other one; false if it
// cannot be written, which is said. The file is as long as it was then.
bool mt_events_append(const mt_l_chunk *chunk);
bool mt_events_spill(const mt_l_chunk *chunk);

// Takes the file beside the recording away: this process is not to be traced after
// all.
void mt_events_remove(void);

// The process has made its last event: copies the file beside the recording into
// the run directory if it had to be made elsewhere.
void mt_events_close(void);

#endif

// The files of events: one next to the recording, and one in the run directory for what
// the first has no room for. Both contain chunks that are mapped, which threads fill,
// and chunks that were written when they were full. If the recording is in a container, both
// are one part of it.
#ifndef MT_EVENTS_H
#define MT_EVENTS_H

#include "base/base.h"

typedef enum mt_events { MT_EVENTS_LOCAL, MT_EVENTS_SPILL } mt_events;

// Makes the file next to the recording. Returns its header, or NULL on an error.
mt_l_eventsheader *mt_events_open(void);

// Reports whether that file is in memory, where writing a page costs a third less than
// reserving, mapping and touching one. On other file systems each chunk that is written
// may have to reach another machine before its file is closed.
bool mt_events_in_memory(void);

// Maps another chunk of a file, without events. Returns NULL and the reason if there is
// no room.
mt_l_chunk *mt_events_map(mt_events where, const char **why);

// Appends a chunk to a file. On an error it returns false and the reason, and the file
// keeps its length.
bool mt_events_write(mt_events where, const mt_l_chunk *chunk, const char **why);

// Returns the path of a file, for messages.
const char *mt_events_path(mt_events where);

// Removes the files: this process is not to be traced.
void mt_events_remove(void);

// Closes the files after the last event of the process: copies the one next to the
// recording into the run directory if it had to be made elsewhere.
void mt_events_close(void);

#endif

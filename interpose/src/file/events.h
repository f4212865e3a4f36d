// The files of events: one beside the recording, and one in the run directory for
// what the first has no room for. Both have chunks that threads fill, which are
// mapped, and chunks that were filled.
#ifndef MT_EVENTS_H
#define MT_EVENTS_H

#include "base/base.h"

typedef enum mt_events { MT_EVENTS_NEAR, MT_EVENTS_FAR } mt_events;

// Makes the file beside the recording; NULL if that cannot be.
mt_l_eventsheader *mt_events_open(void);

// Whether that is in memory, where a page that is written costs a third less than
// one that is reserved, mapped and touched. Elsewhere each chunk that is written may
// have to reach another machine before its file is closed.
bool mt_events_in_memory(void);

// Maps a chunk more of a file, without events; NULL and the reason if there is no
// room.
mt_l_chunk *mt_events_map(mt_events where, const char **why);

// Writes a chunk behind the others of a file; false and the reason if that cannot be:
// the file is as long as it was then.
bool mt_events_write(mt_events where, const mt_l_chunk *chunk, const char **why);

// The path of a file.
const char *mt_events_path(mt_events where);

// Takes the files away: this process is not to be traced after all.
void mt_events_remove(void);

// The process has made its last event: copies the file beside the recording into
// the run directory if it had to be made elsewhere.
void mt_events_close(void);

#endif

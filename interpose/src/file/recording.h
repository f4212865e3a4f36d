// The recording: a file that is mapped shared and updated in place, so that
// the kernel keeps what was written however the process ends.
#ifndef MT_RECORDING_H
#define MT_RECORDING_H

#include "base/base.h"
#include "file/recording_path.h"

typedef struct mt_segment {
    mt_l_segment *segment; // NULL: no room
    uint64_t offset;
} mt_segment;

// Makes the file and maps its start; false with a line on stderr if it cannot
// be made anywhere.
bool mt_recording_open(void);

// Where it is; valid for good once it was made.
const mt_recording_path *mt_recording_where(void);

// Maps `size` more bytes of a file at `offset`. The space is reserved first, so that
// a full disk is an error here and never a SIGBUS later. On an error, which goes
// to `why`, the file is as long as it was: others may need the space.
void *mt_recording_map(int fd, uint64_t offset, uint64_t size, const char **why);

// The file's name, without its directory; valid for good once it was made.
const char *mt_recording_name(void);

// Trims the file, and moves it into the run directory if it had to be made
// elsewhere. The mapping stays valid.
void mt_recording_close(void);

// After that: whether the file can be written on, as the process opened MPI
// again. It counts as running from here on.
bool mt_recording_resume(void);

// The bytes that it may have at most.
uint64_t mt_recording_bound(void);

// Says once that there is no room for more, and why.
void mt_recording_full(const char *why);

// A table of `rows` empty rows, which take so many bytes, and giving one back.
mt_segment mt_segment_table(uint64_t rows, uint64_t bytes);
void mt_segment_release(mt_l_segment *segment);

// Appends a record of `size` bytes to the log: begin returns it zeroed, with
// the log locked, or NULL; commit makes it visible to readers and unlocks.
void *mt_recording_begin(uint64_t size);
void mt_recording_commit(void *record, uint32_t kind);

// Where in the file something is that lies in the record begun.
uint64_t mt_recording_offset(const void *at);

void mt_recording_string(uint32_t key, const char *text, uint64_t length);

#endif

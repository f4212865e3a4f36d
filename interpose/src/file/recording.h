// The recording: a file that is mapped shared and updated in place, so that the kernel
// keeps what was written, however the process ends.
#ifndef MT_RECORDING_H
#define MT_RECORDING_H

#include "base/base.h"
#include "file/storage.h"

typedef struct mt_segment {
    mt_l_segment *segment; // NULL: no room
    uint64_t offset;
} mt_segment;

// Makes the file and maps its start. If it cannot be made in any place, writes a line
// to stderr and returns false.
bool mt_recording_open(void);

// Returns where the recording is stored. The pointer is valid from when the file was made
// until the process ends.
const mt_file *mt_recording_file(void);

// Returns why the recording has a file of its own and no part of its node's container, NULL if it
// has a part, or is in the spool.
const char *mt_recording_alone(void);

// Returns the file's name without its directory. The pointer is valid as long as that
// of mt_recording_file.
const char *mt_recording_name(void);

// Writes the checksum, truncates a file of its own to what was used, and moves it into the run
// directory if it had to be made elsewhere. The mapping stays valid.
void mt_recording_close(void);

// Resumes the recording after mt_recording_close, because the process has initialized MPI again.
// Marks it as running. Returns false if the file cannot be written to any more.
bool mt_recording_resume(void);

// Returns the size limit of the recording in bytes.
uint64_t mt_recording_limit(void);

// Logs, once, that there is no room for more, and why.
void mt_recording_full(const char *why);

// mt_segment_table returns a table of `rows` empty rows, which take `bytes` bytes with
// their samples. mt_segment_release makes a table available for reuse.
mt_segment mt_segment_table(uint64_t rows, uint64_t bytes);
void mt_segment_release(mt_l_segment *segment);

// Append a record of `size` bytes to the log. mt_recording_begin returns it zeroed and
// locks the log, or returns NULL. mt_recording_commit makes it visible to readers and
// unlocks the log.
void *mt_recording_begin(uint64_t size);
void mt_recording_commit(void *record, uint32_t kind);

// Returns the offset in the file of an address in the record that was begun.
uint64_t mt_recording_offset(const void *at);

void mt_recording_string(uint32_t key, const char *text, uint64_t length);

#endif

// How a recording and its events are stored: each in a file of its own, or as a part of
// the container that the processes of a node share (interpose/layout/container.go). Both
// are used alike: offsets are those of the recording, or of the file of events. Callers
// serialize the calls for one file.
#ifndef MT_STORAGE_H
#define MT_STORAGE_H

#include "base/base.h"
#include "file/recording_path.h"

// Mapped memory; `at` is NULL if there is none.
typedef struct mt_room {
    char *at;
    uint64_t size;
} mt_room;

// An extent that this process has mapped.
typedef struct mt_extent {
    mt_l_extent *at;
    uint64_t size; // with its header
} mt_extent;

typedef struct mt_file {
    const struct mt_storage *storage;
    mt_recording_path place; // of the file or of the container
    uint64_t unit;           // segments are multiples of this
    uint64_t overhead;       // bytes that each piece needs for itself
    // In a container:
    uint32_t kind;      // Extent.Kind
    uint32_t sequence;  // of the next extent
    mt_extent *extents; // mapped ones, in order
    uint32_t count, capacity;
} mt_file;

// The functions have a descriptor `fd`, from mt_recording_path_reopen. If they fail, they set
// `why`; the text is valid until the next call.
typedef struct mt_storage {
    // Stores the file at its place, and maps its first `size` bytes or more. `begin` writes them
    // before a reader can see the file. The space of `reserve` bytes is reserved. Leaves nothing
    // behind on an error.
    mt_room (*make)(mt_file *f, uint64_t size, uint64_t reserve, void (*begin)(char *at), const char **why);

    // Stores the events beside their recording, without any bytes yet. Returns a descriptor, or -1.
    int (*make_events)(mt_file *events, const mt_file *recording, const char *ending);

    // Maps `size` or more bytes from offset `at` on, the end of the file. The space is reserved
    // first, so that a full disk is an error here and never a SIGBUS later.
    mt_room (*map)(mt_file *f, int fd, uint64_t at, uint64_t size, const char **why);

    // Writes bytes at the end of the file. On an error the file keeps its length.
    bool (*write)(mt_file *f, int fd, uint64_t at, const void *from, uint64_t size, const char **why);

    // Reads up to `size` bytes. Returns their number, 0 at the end, or -1.
    ssize_t (*read)(const mt_file *f, int fd, uint64_t at, void *to, uint64_t size);

    // Gives back the space after `size` bytes, where that is possible.
    void (*trim)(const mt_file *f, int fd, uint64_t size);

    // Copies the first `size` bytes from memory to NAME.part in the same directory, after somebody
    // has removed the file. That is then the file's place. Returns a descriptor, or -1.
    int (*save)(mt_file *f, uint64_t size);

    // Removes the file. Mapped memory can still be written to.
    void (*remove)(mt_file *f);
} mt_storage;

// Is layout.Sum.
static inline uint64_t mt_sum(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * MT_CHECKSUM_FACTOR;
    return sum ^ sum >> 32;
}

// Writes all bytes at an offset of a descriptor.
bool mt_storage_write_at(int fd, const void *from, uint64_t size, uint64_t offset);

extern MT_HIDDEN const mt_storage mt_own_file, mt_container;

#endif

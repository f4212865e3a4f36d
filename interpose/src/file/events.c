#define _GNU_SOURCE
#include "file/events.h"

#include "file/recording.h"
#include "file/recording_path.h"
#include "file/storage.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

// A file of events.
typedef struct store {
    mt_file file;     // its path is empty if the file cannot be made
    uint64_t start;   // offset of its first chunk
    uint64_t *chunks; // number of its chunks, in the header
    bool made;
} store;

// Written when the trace is opened and closed.
static store local, own_spill, *spill = &own_spill;
static mt_l_eventsheader *header;
static bool in_memory;

static store *store_of(mt_events where)
{
    return where == MT_EVENTS_LOCAL ? &local : spill;
}

static bool is_in_memory(int fd)
{
    struct statfs st;
    return fstatfs(fd, &st) == 0 && (st.f_type == TMPFS_MAGIC || st.f_type == RAMFS_MAGIC);
}

// Chooses the place of events that find no room next to the recording.
static void choose_spill(void)
{
    if (local.file.storage == &mt_container) {
        spill = &local;
        return;
    }
    spill->file = *mt_recording_file();
    spill->file.storage = &mt_own_file;
    if (!mt_recording_path_set_ending(&spill->file.place, ".spill") ||
        !mt_recording_path_in_run_directory(&spill->file.place))
        spill->file.place.path[0] = 0;
    spill->chunks = &header->spilled;
}

mt_l_eventsheader *mt_events_open(void)
{
    const mt_file *recording = mt_recording_file();
    const char *why;
    int fd = recording->storage->make_events(&local.file, recording, ".events");
    if (fd < 0)
        return NULL;
    uint64_t size = MT_EVENTS_HEADER_SIZE - local.file.overhead;
    header = (mt_l_eventsheader *)local.file.storage->map(&local.file, fd, 0, size, &why).at;
    in_memory = is_in_memory(fd);
    close(fd);
    if (!header) {
        local.file.storage->remove(&local.file);
        return NULL;
    }
    *header = (mt_l_eventsheader){.magic = "MPIEVENT", .version = MT_EVENTS_VERSION, .byte_order = MT_BYTE_ORDER,
                                  .header_size = MT_EVENTS_HEADER_SIZE, .chunk_size = MT_CHUNK_SIZE,
                                  .pid = (uint32_t)getpid()};
    local.start = MT_EVENTS_HEADER_SIZE;
    local.chunks = &header->chunks;
    local.made = true;
    choose_spill();
    return header;
}

bool mt_events_in_memory(void)
{
    return in_memory;
}

const char *mt_events_path(mt_events where)
{
    const store *f = store_of(where);
    return f->file.place.path[0] ? f->file.place.path : "the run directory";
}

// Reports whether a file system has more free space than other files on it need. MPIs have
// files there, and fail with an error or a signal if it is full.
static bool has_room(int fd)
{
    enum { MT_MIN_FREE_SPACE = 64 << 20 };
    struct statvfs st;
    return fstatvfs(fd, &st) != 0 || st.f_blocks == 0 || st.f_bavail * st.f_frsize > MT_MIN_FREE_SPACE;
}

static uint64_t next_at(const store *f)
{
    return f->start + *f->chunks * MT_CHUNK_SIZE;
}

static uint64_t chunk_size(const store *f)
{
    return MT_CHUNK_SIZE - f->file.overhead;
}

// Opens a file for another chunk. Returns -1 and the reason if there is no room for
// one.
static int open_for_more(mt_events where, const char **why)
{
    store *f = store_of(where);
    errno = ENOENT;
    int fd = -1;
    if (f->file.place.path[0])
        fd = f->made ? mt_recording_path_reopen(&f->file.place) : mt_recording_path_create(&f->file.place);
    *why = strerror(errno);
    if (fd < 0)
        return -1;
    f->made = true;
    if (where == MT_EVENTS_SPILL || *f->chunks == 0 || has_room(fd))
        return fd;
    *why = "the file system is nearly full";
    close(fd);
    return -1;
}

mt_l_chunk *mt_events_map(mt_events where, const char **why)
{
    store *f = store_of(where);
    int fd = open_for_more(where, why);
    mt_l_chunk *c = NULL;
    if (fd >= 0) {
        c = (mt_l_chunk *)f->file.storage->map(&f->file, fd, next_at(f), chunk_size(f), why).at;
        close(fd);
    }
    if (!c)
        return NULL;
#ifdef MADV_POPULATE_WRITE
    // Touching the pages one by one costs three times as much.
    madvise((char *)c - f->file.overhead, MT_CHUNK_SIZE, MADV_POPULATE_WRITE);
#endif
    *c = (mt_l_chunk){0}; // old data may be left there
    __atomic_store_n(f->chunks, *f->chunks + 1, __ATOMIC_RELEASE);
    return c;
}

bool mt_events_write(mt_events where, const mt_l_chunk *chunk, const char **why)
{
    store *f = store_of(where);
    int fd = open_for_more(where, why);
    if (fd < 0)
        return false;
    bool done = f->file.storage->write(&f->file, fd, next_at(f), chunk, chunk_size(f), why);
    if (close(fd) != 0 && done) { // network file systems may report an error only now
        done = false;
        *why = strerror(errno);
    }
    *f->chunks += done;
    return done;
}

void mt_events_remove(void)
{
    local.file.storage->remove(&local.file);
    if (spill != &local && spill->made)
        spill->file.storage->remove(&spill->file);
}

void mt_events_close(void)
{
    int fd = header && local.file.place.in_tmpdir ? mt_recording_path_reopen(&local.file.place) : -1;
    if (fd < 0)
        return;
    mt_recording_path_deliver(&local.file.place, fd, MT_EVENTS_HEADER_SIZE + header->chunks * MT_CHUNK_SIZE);
    close(fd);
}

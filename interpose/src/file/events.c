#define _GNU_SOURCE
#include "file/events.h"

#include "file/recording.h"
#include "file/recording_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

// A file of events.
typedef struct store {
    mt_recording_path place;   // its path is empty if the file cannot be made
    uint64_t start;   // offset of its first chunk
    uint64_t *chunks; // number of its chunks, in the header
    bool made;
} store;

// Written when the trace is opened and closed.
static store stores[2], *const local = &stores[MT_EVENTS_LOCAL], *const spill = &stores[MT_EVENTS_SPILL];
static mt_l_eventsheader *header;
static bool in_memory;

// Sets p to the recording's place, with another file name extension.
static bool set_path(mt_recording_path *p, const char *ending)
{
    *p = *mt_recording_location();
    char *path = strrchr(p->path, '.'), *name = strrchr(p->name, '.');
    if (!path || !name || (size_t)(path - p->path) + strlen(ending) >= sizeof p->path)
        return false;
    strcpy(path, ending);
    strcpy(name, ending); // a few bytes longer than the old extension
    return true;
}

static bool is_in_memory(int fd)
{
    struct statfs st;
    return fstatfs(fd, &st) == 0 && (st.f_type == TMPFS_MAGIC || st.f_type == RAMFS_MAGIC);
}

mt_l_eventsheader *mt_events_open(void)
{
    if (!set_path(&local->place, ".events") || !set_path(&spill->place, ".spill"))
        return NULL;
    if (!mt_recording_path_in_run_directory(&spill->place))
        spill->place.path[0] = 0;
    int fd = mt_recording_path_create(&local->place);
    if (fd < 0)
        return NULL;
    const char *why;
    header = mt_recording_map(fd, 0, MT_EVENTS_HEADER_SIZE, &why);
    in_memory = is_in_memory(fd);
    close(fd);
    if (!header) {
        unlink(local->place.path);
        return NULL;
    }
    *header = (mt_l_eventsheader){.magic = "MPIEVENT", .version = MT_EVENTS_VERSION, .byte_order = MT_BYTE_ORDER,
                                  .header_size = MT_EVENTS_HEADER_SIZE, .chunk_size = MT_CHUNK_SIZE,
                                  .pid = (uint32_t)getpid()};
    local->start = MT_EVENTS_HEADER_SIZE;
    local->chunks = &header->chunks;
    local->made = true;
    spill->chunks = &header->spilled;
    return header;
}

bool mt_events_in_memory(void)
{
    return in_memory;
}

const char *mt_events_path(mt_events where)
{
    return stores[where].place.path[0] ? stores[where].place.path : "the run directory";
}

// Reports whether a file system has more free space than others need. MPIs have files
// of their own on it, and would fail with an error or a signal if it were full.
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

// Opens a file for another chunk. Returns -1 and the reason if there is no room for
// one.
static int open_for_more(store *f, const char **why)
{
    *why = strerror(EFBIG);
    if (!mt_recording_path_allows(next_at(f) + MT_CHUNK_SIZE))
        return -1;
    errno = ENOENT;
    int fd = -1;
    if (f->place.path[0])
        fd = f->made ? mt_recording_path_reopen(&f->place) : mt_recording_path_create(&f->place);
    *why = strerror(errno);
    if (fd < 0)
        return -1;
    f->made = true;
    if (f == spill || *f->chunks == 0 || has_room(fd))
        return fd;
    *why = "the file system is nearly full";
    close(fd);
    return -1;
}

mt_l_chunk *mt_events_map(mt_events where, const char **why)
{
    store *f = &stores[where];
    int fd = open_for_more(f, why);
    mt_l_chunk *c = fd < 0 ? NULL : mt_recording_map(fd, next_at(f), MT_CHUNK_SIZE, why);
    if (fd >= 0)
        close(fd);
    if (!c)
        return NULL;
#ifdef MADV_POPULATE_WRITE
    madvise(c, MT_CHUNK_SIZE, MADV_POPULATE_WRITE); // touching the pages one by one costs three times as much
#endif
    *c = (mt_l_chunk){0}; // old data may be left there
    __atomic_store_n(f->chunks, *f->chunks + 1, __ATOMIC_RELEASE);
    return c;
}

static bool write_at(int fd, const mt_l_chunk *chunk, uint64_t at)
{
    for (uint64_t done = 0; done < MT_CHUNK_SIZE;) {
        ssize_t n = pwrite(fd, (const char *)chunk + done, MT_CHUNK_SIZE - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (uint64_t)n;
    }
    return true;
}

bool mt_events_write(mt_events where, const mt_l_chunk *chunk, const char **why)
{
    store *f = &stores[where];
    int fd = open_for_more(f, why);
    if (fd < 0)
        return false;
    bool done = write_at(fd, chunk, next_at(f));
    int error = errno;
    if (!done && ftruncate(fd, (off_t)next_at(f)) != 0) { /* readers detect that the last chunk is cut */ }
    if (close(fd) != 0 && done) { // network file systems may report an error only now
        done = false;
        error = errno;
    }
    *why = strerror(error);
    *f->chunks += done;
    return done;
}

void mt_events_remove(void)
{
    unlink(local->place.path);
    if (spill->made)
        unlink(spill->place.path);
}

void mt_events_close(void)
{
    int fd = header && local->place.in_tmpdir ? mt_recording_path_reopen(&local->place) : -1;
    if (fd < 0)
        return;
    mt_recording_path_deliver(&local->place, fd, MT_EVENTS_HEADER_SIZE + header->chunks * MT_CHUNK_SIZE);
    close(fd);
}

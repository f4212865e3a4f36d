#define _GNU_SOURCE
#include "events.h"

#include "place.h"
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

static mt_place mapped, spilled;
static mt_l_eventsheader *header;

// The recording's place, with another ending.
static bool beside(mt_place *p, const char *ending)
{
    char *path = strrchr(p->path, '.'), *name = strrchr(p->name, '.');
    if (!path || !name || (size_t)(path - p->path) + strlen(ending) >= sizeof p->path)
        return false;
    strcpy(path, ending);
    strcpy(name, ending); // which is not much longer than it was
    return true;
}

mt_l_eventsheader *mt_events_open(void)
{
    mapped = spilled = *mt_recording_place();
    if (!beside(&mapped, ".events") || !beside(&spilled, ".spill"))
        return NULL;
    if (!mt_place_in_run_directory(&spilled))
        spilled.path[0] = 0;
    int fd = mt_place_create(&mapped);
    if (fd < 0)
        return NULL;
    const char *why;
    header = mt_recording_map(fd, 0, MT_EVENTS_HEADER_SIZE, &why);
    close(fd);
    if (!header) {
        unlink(mapped.path);
        return NULL;
    }
    *header = (mt_l_eventsheader){.magic = "MPIEVENT", .version = MT_EVENTS_VERSION, .byte_order = MT_BYTE_ORDER,
                                  .header_size = MT_EVENTS_HEADER_SIZE, .chunk_size = MT_CHUNK_SIZE,
                                  .pid = (uint32_t)getpid()};
    return header;
}

// Whether a file system has more than others need: MPIs have their own files where
// ours are, and no use for an error, or a signal, when there is no room.
static bool has_room(int fd)
{
    enum { MT_LEFT_TO_OTHERS = 64 << 20 };
    struct statvfs st;
    return fstatvfs(fd, &st) != 0 || st.f_blocks == 0 || st.f_bavail * st.f_frsize > MT_LEFT_TO_OTHERS;
}

mt_l_chunk *mt_events_chunk(uint64_t index)
{
    const char *why = "its file cannot be opened again";
    int fd = mt_place_reopen(&mapped);
    mt_l_chunk *c = NULL;
    if (fd >= 0) {
        why = "the file system is nearly full";
        if (index == 0 || has_room(fd))
            c = mt_recording_map(fd, MT_EVENTS_HEADER_SIZE + index * MT_CHUNK_SIZE, MT_CHUNK_SIZE, &why);
        close(fd);
    }
    if (!c)
        mt_say("the trace has %u KiB in memory and no more: %s", (unsigned)(index * (MT_CHUNK_SIZE >> 10)), why);
#ifdef MADV_POPULATE_WRITE
    else
        madvise(c, MT_CHUNK_SIZE, MADV_POPULATE_WRITE); // at once is a third of the price of one by one
#endif
    return c;
}

static bool write_at(int fd, const char *from, uint64_t size, uint64_t at)
{
    for (uint64_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, from + done, size - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (uint64_t)n;
    }
    return true;
}

bool mt_events_spill(const mt_l_chunk *chunk, uint64_t index)
{
    uint64_t at = index * MT_CHUNK_SIZE;
    bool allowed = mt_place_allows(at + MT_CHUNK_SIZE);
    errno = allowed ? ENOENT : EFBIG;
    int fd = -1;
    if (allowed && spilled.path[0])
        fd = index == 0 ? mt_place_create(&spilled) : mt_place_reopen(&spilled);
    bool done = fd >= 0 && write_at(fd, (const char *)chunk, MT_CHUNK_SIZE, at);
    if (!done) {
        mt_say("the trace cannot be written on to %s: %s; what comes now is counted, and no longer traced",
               spilled.path[0] ? spilled.path : "the run directory", strerror(errno));
        if (fd >= 0 && ftruncate(fd, (off_t)at) != 0) { /* readers see that the last is cut */ }
    }
    if (fd >= 0)
        close(fd);
    return done;
}

void mt_events_remove(void)
{
    unlink(mapped.path);
}

void mt_events_close(void)
{
    int fd = header && mapped.elsewhere ? mt_place_reopen(&mapped) : -1;
    if (fd < 0)
        return;
    mt_place_deliver(&mapped, fd, MT_EVENTS_HEADER_SIZE + header->chunks * MT_CHUNK_SIZE);
    close(fd);
}

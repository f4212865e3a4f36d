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

static mt_place near, spilled;
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
    near = spilled = *mt_recording_place();
    if (!beside(&near, ".events") || !beside(&spilled, ".spill"))
        return NULL;
    if (!mt_place_in_run_directory(&spilled))
        spilled.path[0] = 0;
    int fd = mt_place_create(&near);
    if (fd < 0)
        return NULL;
    const char *why;
    header = mt_recording_map(fd, 0, MT_EVENTS_HEADER_SIZE, &why);
    close(fd);
    if (!header) {
        unlink(near.path);
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

static uint64_t next_at(void)
{
    return MT_EVENTS_HEADER_SIZE + header->chunks * MT_CHUNK_SIZE;
}

static void say_full(const char *why, const char *instead)
{
    mt_say("the trace has %u KiB in memory and no more: %s; %s", (unsigned)(header->chunks * (MT_CHUNK_SIZE >> 10)), why, instead);
}

// Opens the file again if one chunk more has room on its file system.
static int reopen_for_more(const char **why)
{
    int fd = mt_place_reopen(&near);
    *why = "its file cannot be opened again";
    if (fd < 0 || header->chunks == 0 || has_room(fd))
        return fd;
    *why = "the file system is nearly full";
    close(fd);
    return -1;
}

mt_l_chunk *mt_events_map(const char *without)
{
    const char *why;
    int fd = reopen_for_more(&why);
    mt_l_chunk *c = fd < 0 ? NULL : mt_recording_map(fd, next_at(), MT_CHUNK_SIZE, &why);
    if (fd >= 0)
        close(fd);
    if (!c) {
        say_full(why, without);
        return NULL;
    }
#ifdef MADV_POPULATE_WRITE
    madvise(c, MT_CHUNK_SIZE, MADV_POPULATE_WRITE); // at once is a third of the price of one by one
#endif
    header->chunks++;
    return c;
}

// Writes all of a chunk at an offset, or nothing.
static bool write_chunk(int fd, const mt_l_chunk *chunk, uint64_t at)
{
    for (uint64_t done = 0; done < MT_CHUNK_SIZE;) {
        ssize_t n = pwrite(fd, (const char *)chunk + done, MT_CHUNK_SIZE - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int saved = errno;
            if (ftruncate(fd, (off_t)at) != 0) { /* readers see that the last is cut */ }
            errno = saved;
            return false;
        }
        done += (uint64_t)n;
    }
    return true;
}

// That a page is written, and not mapped and touched, makes it a third cheaper; and
// what is mapped stays in the processor's caches.
bool mt_events_append(const mt_l_chunk *chunk)
{
    const char *why = strerror(EFBIG);
    int fd = mt_place_allows(next_at() + MT_CHUNK_SIZE) ? reopen_for_more(&why) : -1;
    bool done = fd >= 0 && write_chunk(fd, chunk, next_at());
    if (!done)
        say_full(fd >= 0 ? strerror(errno) : why, "the rest goes to the run directory");
    if (fd >= 0)
        close(fd);
    header->chunks += done;
    return done;
}

bool mt_events_spill(const mt_l_chunk *chunk)
{
    uint64_t at = header->spilled * MT_CHUNK_SIZE;
    bool allowed = mt_place_allows(at + MT_CHUNK_SIZE);
    errno = allowed ? ENOENT : EFBIG;
    int fd = -1;
    if (allowed && spilled.path[0])
        fd = at == 0 ? mt_place_create(&spilled) : mt_place_reopen(&spilled);
    bool done = fd >= 0 && write_chunk(fd, chunk, at);
    if (!done)
        mt_say("the trace cannot be written on to %s: %s; what comes now is counted, and no longer traced",
               spilled.path[0] ? spilled.path : "the run directory", strerror(errno));
    if (fd >= 0)
        close(fd);
    header->spilled += done;
    return done;
}

void mt_events_remove(void)
{
    unlink(near.path);
}

void mt_events_close(void)
{
    int fd = header && near.elsewhere ? mt_place_reopen(&near) : -1;
    if (fd < 0)
        return;
    mt_place_deliver(&near, fd, MT_EVENTS_HEADER_SIZE + header->chunks * MT_CHUNK_SIZE);
    close(fd);
}

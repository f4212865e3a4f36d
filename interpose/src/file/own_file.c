#define _GNU_SOURCE
#include "file/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Storage of one process in a file of its own. Pieces are whole pages.

static uint64_t pages(uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

// Reserves `size` more bytes at `offset`. Returns 0, or an error number.
static int reserve(int fd, uint64_t offset, uint64_t size)
{
    if (!mt_recording_path_allows(offset + size))
        return EFBIG;
    int rc = posix_fallocate(fd, (off_t)offset, (off_t)size);
    for (int tries = 0; rc == EINTR && tries < 100; tries++)
        rc = posix_fallocate(fd, (off_t)offset, (off_t)size);
    return rc;
}

static mt_room map(mt_file *f, int fd, uint64_t at, uint64_t size, const char **why)
{
    (void)f;
    size = pages(size);
    int rc = reserve(fd, at, size);
    void *memory = MAP_FAILED;
    if (rc == 0) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
        rc = errno;
    }
    if (memory != MAP_FAILED)
        return (mt_room){memory, size};
    *why = strerror(rc);
    if (ftruncate(fd, (off_t)at) != 0) { /* the file stays longer; others may need the space */ }
    return (mt_room){NULL, 0};
}

static mt_room make(mt_file *f, uint64_t size, uint64_t reserved, void (*begin)(char *), const char **why)
{
    mt_room room = {NULL, 0};
    errno = 0;
    int fd = mt_recording_path_create(&f->place);
    if (fd < 0) {
        if (errno)
            *why = strerror(errno);
        return room;
    }
    f->storage = &mt_own_file;
    f->unit = pages(1);
    f->overhead = 0;
    int rc = reserve(fd, 0, pages(reserved));
    *why = strerror(rc);
    if (rc == 0)
        room = map(f, fd, 0, size, why);
    close(fd);
    if (room.at)
        begin(room.at);
    else
        unlink(f->place.path);
    return room;
}

static int make_events(mt_file *events, const mt_file *recording, const char *ending)
{
    events->storage = &mt_own_file;
    events->place = recording->place;
    events->unit = recording->unit;
    return mt_recording_path_set_ending(&events->place, ending) ? mt_recording_path_create(&events->place) : -1;
}

bool mt_storage_write_at(int fd, const void *from, uint64_t size, uint64_t offset)
{
    for (uint64_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, (const char *)from + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (uint64_t)n;
    }
    return true;
}

static bool append(mt_file *f, int fd, uint64_t at, const void *from, uint64_t size, const char **why)
{
    (void)f;
    errno = EFBIG;
    if (mt_recording_path_allows(at + size) && mt_storage_write_at(fd, from, size, at))
        return true;
    *why = strerror(errno);
    if (ftruncate(fd, (off_t)at) != 0) { /* readers detect that the end is cut */ }
    return false;
}

static ssize_t read_at(const mt_file *f, int fd, uint64_t at, void *to, uint64_t size)
{
    (void)f;
    return pread(fd, to, size, (off_t)at);
}

static void trim(const mt_file *f, int fd, uint64_t size)
{
    (void)f;
    if (ftruncate(fd, (off_t)size) != 0) { /* the file stays longer */ }
}

// Cannot be done: the addresses of the mappings are not kept.
static int save(mt_file *f, uint64_t size)
{
    (void)f;
    (void)size;
    return -1;
}

static void remove_file(mt_file *f)
{
    unlink(f->place.path);
}

const mt_storage mt_own_file = {
    .make = make,
    .make_events = make_events,
    .map = map,
    .write = append,
    .read = read_at,
    .trim = trim,
    .save = save,
    .remove = remove_file,
};

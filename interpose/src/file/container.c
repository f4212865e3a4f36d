#define _GNU_SOURCE
#include "file/storage.h"

#include "base/clock.h"
#include "base/job.h"
#include "base/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Storage in the container of the node: see interpose/layout/container.go. A process opens the
// container, or makes it, when its recording begins, and keeps its header mapped. It needs no
// system call for a segment that fits into the rest of its latest extent.

static const mt_room no_room;
static mt_l_containerheader *header; // of the container. make, when the recording begins
static uint64_t reserved;            // number of granules whose space the creator reserved. make, as header

enum {
    MT_MAX_LOCAL_RANKS = 4096,   // most processes for which space is reserved
    MT_JOIN_TRIES = 3,           // how many containers are tried; each may be removed just after it was opened
    MT_WAIT_TRIES = 5,           // how often a process waits for the first one of its node
    MT_WAIT_NS = 1000000,        // how long it waits
    MT_NAME_PART = 64,           // most bytes of the job's name in that of a container
};

// Identifies this node.
typedef struct node {
    char host[MT_MAX_HOST], boot_id[sizeof((mt_l_containerheader *)0)->boot_id];
} node;

// A container that was opened.
typedef struct opened {
    char path[sizeof((mt_recording_path *)0)->path];
    int fd;
    struct stat st;
} opened;

static bool identify(node *n)
{
    memset(n, 0, sizeof *n);
    mt_recording_path_host(n->host, sizeof n->host);
    ssize_t length = mt_procfs_read("/proc/sys/kernel/random/boot_id", n->boot_id, sizeof n->boot_id);
    n->boot_id[strcspn(n->boot_id, "\n")] = 0;
    return length >= 8;
}

// Sets `path` to JOB-HOST-BOOTID8.node in the directory of a recording.
static bool name_container(char *path, size_t size, const char *recording, const node *n)
{
    char job[MT_NAME_PART];
    int directory = (int)(strrchr(recording, '/') - recording);
    mt_job_name(job, sizeof job);
    for (char *c = job; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-", *c))
            *c = '_';
    int length = snprintf(path, size, "%.*s/%s-%s-%.8s.node", directory, recording, job, n->host, n->boot_id);
    return length > 0 && (size_t)length < size;
}

// Reserves space. Unlike posix_fallocate this never writes, which would destroy what other
// processes write. Returns 0, or an error number.
static int reserve(int fd, uint64_t offset, uint64_t size)
{
    if (!mt_recording_path_allows(offset + size))
        return EFBIG;
    for (int tries = 0; tries < 100; tries++) {
        if (fallocate(fd, 0, (off_t)offset, (off_t)size) == 0)
            return 0;
        if (errno != EINTR)
            break;
    }
    return errno;
}

static void set_random(uint64_t id[2])
{
    if (syscall(SYS_getrandom, id, 2 * sizeof *id, 1 /* GRND_NONBLOCK */) == 2 * sizeof *id)
        return;
    id[0] = mt_clock_ns(CLOCK_REALTIME);
    id[1] = (uint64_t)getpid() << 32 ^ mt_clock_ns(CLOCK_MONOTONIC);
}

// Fills a new container. Returns 0, or an error number.
static int fill(int fd, const node *n)
{
    mt_l_containerheader h = {.magic = "MPINODES", .version = MT_CONTAINER_VERSION, .byte_order = MT_BYTE_ORDER,
                              .granule = MT_GRANULE, .claimed = 1};
    int processes = mt_job_local_size();
    h.reserved = 1 + (uint32_t)(processes < 1 ? 1 : processes > MT_MAX_LOCAL_RANKS ? MT_MAX_LOCAL_RANKS : processes);
    int error = reserve(fd, 0, (uint64_t)h.reserved * MT_GRANULE);
    if (error && h.reserved > 2) { // the others may find room elsewhere
        h.reserved = 2;
        error = reserve(fd, 0, (uint64_t)h.reserved * MT_GRANULE);
    }
    if (error)
        return error;
    memcpy(h.boot_id, n->boot_id, sizeof h.boot_id);
    memcpy(h.host, n->host, sizeof h.host);
    set_random(h.id);
    return mt_storage_write_at(fd, &h, sizeof h, 0) ? 0 : errno;
}

// Makes a container, if there is none of this name. It gets its name when it is complete.
static bool create(const char *path, const node *n, const char **why)
{
    char temporary[sizeof((opened *)0)->path + 64];
    int directory = (int)(strrchr(path, '/') - path);
    snprintf(temporary, sizeof temporary, "%.*s/.%s.%d.%llu", directory, path, path + directory + 1, (int)getpid(),
             (unsigned long long)mt_clock_ns(CLOCK_REALTIME));
    int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) {
        *why = strerror(errno);
        return false;
    }
    struct stat st;
    if (fstat(fd, &st) == 0)
        mt_recording_path_own(fd, &st);
    int error = fill(fd, n);
    if (close(fd) != 0 && !error)
        error = errno;
    if (!error && link(temporary, path) != 0 && errno != EEXIST)
        error = errno;
    unlink(temporary);
    *why = error == EPERM || error == EOPNOTSUPP || error == ENOSYS ? "the file system lacks fallocate or link" : strerror(error);
    return !error;
}

// Returns what is wrong with a container, or NULL.
static const char *check_file(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "the container is not a regular file";
    if (st->st_uid != geteuid())
        return "the container belongs to another user";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "other users can write to the container";
    return st->st_size < MT_GRANULE ? "the container is truncated" : NULL;
}

static const char *check_header(const mt_l_containerheader *h, const node *n)
{
    if (memcmp(h->magic, "MPINODES", sizeof h->magic) != 0 || h->version != MT_CONTAINER_VERSION ||
        h->byte_order != MT_BYTE_ORDER || h->granule != MT_GRANULE)
        return "the container has an unknown format";
    if (memcmp(h->host, n->host, sizeof h->host) != 0 || memcmp(h->boot_id, n->boot_id, sizeof h->boot_id) != 0)
        return "the container belongs to another node";
    return NULL;
}

// Opens the container and maps its header. Returns false, with an error number, if it does not
// exist or cannot be used.
static int open_existing(opened *o, const node *n, const char **why)
{
    o->fd = open(o->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (o->fd < 0 || fstat(o->fd, &o->st) != 0) {
        int error = errno;
        *why = strerror(error);
        if (o->fd >= 0)
            close(o->fd);
        return error;
    }
    *why = check_file(&o->st);
    if (!*why) {
        void *at = mmap(NULL, sizeof *header, PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, 0);
        header = at == MAP_FAILED ? NULL : at;
        *why = header ? check_header(header, n) : strerror(errno);
    }
    if (!*why)
        return 0;
    if (header)
        munmap(header, sizeof *header);
    header = NULL;
    close(o->fd);
    return EACCES;
}

// Opens the container, or makes it if there is none. All but the first process of the node
// wait a moment for the first one to make it: the fewer files are made, the better.
static bool open_or_create(opened *o, const node *n, const char **why)
{
    int error = open_existing(o, n, why);
    for (int tries = mt_job_local_rank() > 0 ? MT_WAIT_TRIES : 0; error == ENOENT && tries > 0; tries--) {
        nanosleep(&(struct timespec){.tv_nsec = MT_WAIT_NS}, NULL);
        error = open_existing(o, n, why);
    }
    if (error == ENOENT && create(o->path, n, why))
        error = open_existing(o, n, why);
    if (error == 0)
        reserved = (uint64_t)o->st.st_size / MT_GRANULE < header->reserved ? 0 : header->reserved;
    return error == 0;
}

// Claims granules. Returns the number of the first, or 0 and the reason.
static uint64_t claim(uint64_t granules, const char **why)
{
    uint64_t claimed = __atomic_load_n(&header->claimed, __ATOMIC_ACQUIRE), first;
    do {
        first = claimed & ~MT_CONTAINER_SEALED;
        *why = strerror(EFBIG);
        if (first == 0 || first + granules > UINT32_MAX || !mt_recording_path_allows((first + granules) * MT_GRANULE))
            return 0;
    } while (!__atomic_compare_exchange_n(&header->claimed, &claimed, claimed + granules, false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_ACQUIRE));
    return first;
}

// Gives granules back that were not written to. They stay unused if others were claimed since.
static void give_back(uint64_t first, uint64_t granules)
{
    uint64_t end = first + granules;
    __atomic_compare_exchange_n(&header->claimed, &end, first, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

// Returns Extent.Sum. The magic number, which is stored last, is that of a valid extent.
static uint32_t sum_extent(mt_l_extent e)
{
    uint64_t words[sizeof e / 8], sum = MT_CHECKSUM_START;
    e.magic = MT_EXTENT_MAGIC;
    e.checksum = 0;
    memcpy(words, &e, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        sum = mt_sum(sum, words[i]);
    return (uint32_t)(sum ^ sum >> 32);
}

static mt_l_extent describe(mt_file *f, uint64_t first, uint64_t granules, uint64_t at)
{
    mt_l_extent e = {.kind = f->kind, .sequence = f->sequence++, .granules = (uint32_t)granules,
                     .id = {header->id[0], header->id[1]}, .offset = first * MT_GRANULE, .owner = f->place.start,
                     .logical = at, .pid = (uint32_t)getpid()};
    e.checksum = sum_extent(e);
    return e;
}

// Reports whether the container was sealed: it is about to be packed, unless a process that has
// an extent still runs. Called after the first extent was written: either this process sees the
// seal, or whoever seals the container sees the extent.
static bool is_sealed(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&header->claimed, __ATOMIC_SEQ_CST) & MT_CONTAINER_SEALED;
}

static bool enlarge_list(mt_file *f)
{
    if (f->count < f->capacity)
        return true;
    uint32_t capacity = f->capacity ? f->capacity * 2 : 16;
    mt_extent *more = realloc(f->extents, capacity * sizeof *more);
    if (!more)
        return false;
    f->extents = more;
    f->capacity = capacity;
    return true;
}

static uint64_t granules_for(uint64_t size)
{
    return (MT_EXTENT_SIZE + size + MT_GRANULE - 1) / MT_GRANULE;
}

// Reserves and maps granules. Returns NULL and the reason on an error.
static void *map_granules(int fd, uint64_t first, uint64_t granules, const char **why)
{
    uint64_t offset = first * MT_GRANULE, size = granules * MT_GRANULE;
    int error = first + granules <= reserved ? 0 : reserve(fd, offset, size);
    void *memory = MAP_FAILED;
    if (!error) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
        error = errno;
    }
    if (memory != MAP_FAILED)
        return memory;
    *why = strerror(error);
    return NULL;
}

// Maps an extent. `begin`, which may be NULL, writes to it before it becomes visible.
static mt_room map_extent(mt_file *f, int fd, uint64_t at, uint64_t size, void (*begin)(char *), const char **why)
{
    uint64_t granules = granules_for(size), first;
    if (!enlarge_list(f)) {
        *why = strerror(ENOMEM);
        return no_room;
    }
    if (!(first = claim(granules, why)))
        return no_room;
    mt_l_extent *e = map_granules(fd, first, granules, why);
    if (!e) {
        give_back(first, granules);
        return no_room;
    }
    size = granules * MT_GRANULE;
    *e = describe(f, first, granules, at);
    if (begin)
        begin((char *)e + MT_EXTENT_SIZE);
    __atomic_store_n(&e->magic, MT_EXTENT_MAGIC, __ATOMIC_RELEASE);
    f->extents[f->count++] = (mt_extent){e, size};
    return (mt_room){(char *)e + MT_EXTENT_SIZE, size - MT_EXTENT_SIZE};
}

static mt_room map(mt_file *f, int fd, uint64_t at, uint64_t size, const char **why)
{
    return map_extent(f, fd, at, size, NULL, why);
}

// Reports whether the container still has its name. It is removed when it has been packed.
static bool has_name(const opened *o)
{
    struct stat st;
    return lstat(o->path, &st) == 0 && st.st_ino == o->st.st_ino && st.st_dev == o->st.st_dev;
}

static mt_room make(mt_file *f, uint64_t size, uint64_t bytes, void (*begin)(char *), const char **why)
{
    (void)bytes; // the first extent has room for all of it
    node n;
    opened o;
    *why = "the node or its boot id is not known";
    if (!identify(&n) || !name_container(o.path, sizeof o.path, f->place.path, &n))
        return no_room;
    f->storage = &mt_container;
    f->unit = f->overhead = MT_EXTENT_SIZE;
    f->kind = MT_EXTENT_RECORDING;
    for (int tries = 0; tries < MT_JOIN_TRIES && open_or_create(&o, &n, why); tries++) {
        f->sequence = f->count = 0;
        bool sealed = is_sealed();
        mt_room room = sealed ? no_room : map_extent(f, o.fd, 0, size, begin, why);
        bool named = has_name(&o);
        sealed |= is_sealed();
        close(o.fd);
        if (room.at && named && !sealed) {
            memcpy(f->place.path, o.path, sizeof f->place.path);
            f->place.inode = o.st.st_ino;
            f->place.device = o.st.st_dev;
            return room;
        }
        if (room.at) {
            f->extents[0].at->magic = 0;
            munmap(f->extents[0].at, f->extents[0].size);
        }
        munmap(header, sizeof *header);
        header = NULL;
        *why = !named ? "the container was removed" : sealed ? "the container is sealed" : *why;
        if (named)
            break;
    }
    return no_room;
}

static int make_events(mt_file *events, const mt_file *recording, const char *ending)
{
    (void)ending;
    events->storage = recording->storage;
    events->place = recording->place;
    events->unit = recording->unit;
    events->overhead = recording->overhead;
    events->kind = MT_EXTENT_EVENTS;
    return mt_recording_path_reopen(&events->place);
}

static bool append(mt_file *f, int fd, uint64_t at, const void *from, uint64_t size, const char **why)
{
    uint64_t granules = granules_for(size), first = claim(granules, why);
    if (!first)
        return false;
    mt_l_extent e = describe(f, first, granules, at);
    e.magic = MT_EXTENT_MAGIC;
    if (mt_storage_write_at(fd, from, size, e.offset + MT_EXTENT_SIZE) && mt_storage_write_at(fd, &e, sizeof e, e.offset))
        return true;
    *why = strerror(errno);
    return false;
}

static ssize_t read_at(const mt_file *f, int fd, uint64_t at, void *to, uint64_t size)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const mt_l_extent *e = f->extents[i].at;
        uint64_t within = at - e->logical, rest = f->extents[i].size - MT_EXTENT_SIZE - within;
        if (at >= e->logical && within < f->extents[i].size - MT_EXTENT_SIZE)
            return pread(fd, to, size < rest ? size : rest, (off_t)(e->offset + MT_EXTENT_SIZE + within));
    }
    return 0;
}

// A shared file is never truncated.
static void trim(const mt_file *f, int fd, uint64_t size)
{
    (void)f;
    (void)fd;
    (void)size;
}

static bool write_extents(const mt_file *f, int fd, uint64_t size)
{
    if (!mt_recording_path_allows(size))
        return false;
    for (uint32_t i = 0; i < f->count; i++) {
        const mt_l_extent *e = f->extents[i].at;
        uint64_t room = f->extents[i].size - MT_EXTENT_SIZE, rest = e->logical < size ? size - e->logical : 0;
        if (!mt_storage_write_at(fd, e + 1, rest < room ? rest : room, e->logical))
            return false;
    }
    return true;
}

static int save(mt_file *f, uint64_t size)
{
    char *name = strrchr(f->place.path, '/') + 1;
    size_t rest = sizeof f->place.path - (size_t)(name - f->place.path);
    if (snprintf(name, rest, "%s.part", f->place.name) >= (int)rest)
        return -1;
    int fd = mt_recording_path_create(&f->place);
    if (fd >= 0 && !write_extents(f, fd, size)) {
        unlink(f->place.path);
        close(fd);
        fd = -1;
    }
    f->storage = &mt_own_file;
    return fd;
}

// Removes the extents, and puts other memory in their place.
static void remove_extents(mt_file *f)
{
    int fd = mt_recording_path_reopen(&f->place);
    for (uint32_t i = 0; i < f->count; i++) {
        mt_l_extent *e = f->extents[i].at;
        uint64_t size = f->extents[i].size, offset = e->offset;
        __atomic_store_n(&e->magic, 0, __ATOMIC_RELEASE);
        void *memory = mmap(e, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (fd >= 0 && memory != MAP_FAILED &&
            fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size) != 0) {
            /* the space stays unused */
        }
    }
    f->count = 0;
    if (fd >= 0)
        close(fd);
}

const mt_storage mt_container = {
    .make = make,
    .make_events = make_events,
    .map = map,
    .write = append,
    .read = read_at,
    .trim = trim,
    .save = save,
    .remove = remove_extents,
};

#define _GNU_SOURCE
#include "file/recording.h"

#include "base/clock.h"
#include "base/job.h"
#include "base/lock.h"
#include "base/settings.h"
#include "file/recording_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Written when the recording is made. Its place changes when it is moved at the end.
static mt_recording_path place;
static uint64_t page; // size of a page of memory

// The size limit of a recording: the default and the largest value of the setting in
// MiB, and the limit in force in bytes.
enum { MT_DEFAULT_MB = 64, MT_MAX_MB = 1 << 20 };
static uint64_t size_limit;


// Tables that were outgrown, kept for reuse.
enum { MT_FREE_SEGMENTS = 64 };
static mt_segment free_segments[MT_FREE_SEGMENTS];

void mt_recording_full(const char *why)
{
    static atomic_flag reported = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&reported))
        mt_log("the recording of rank %d cannot grow: %s; calls that need a new row are counted without their call "
               "site and peer",
               mt_job_rank_for_messages(), why);
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

void *mt_recording_map(int fd, uint64_t offset, uint64_t size, const char **why)
{
    int rc = reserve(fd, offset, size);
    void *at = MAP_FAILED;
    if (rc == 0) {
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
        rc = errno;
    }
    if (at != MAP_FAILED)
        return at;
    *why = strerror(rc);
    if (ftruncate(fd, (off_t)offset) != 0) { /* the file stays longer */ }
    return NULL;
}

static uint64_t pages(uint64_t size)
{
    return (size + page - 1) / page * page;
}

// Appends a segment. Header.end is updated last, so that readers see only complete
// segments.
static mt_segment append_segment(uint32_t kind, uint64_t size, uint64_t rows)
{
    mt_segment s = {NULL, 0};
    const char *why = "it has reached the size that MPITRACE_MAX_MB allows";
    int saved = errno, fd = -1;
    size = pages(size);
    mt_lock(MT_LOCK_FILE);
    if (mt_process.header->end + size <= size_limit && (fd = mt_recording_path_reopen(&place)) < 0)
        why = "its file cannot be reopened";
    if (fd >= 0) {
        uint64_t offset = mt_process.header->end;
        s.segment = mt_recording_map(fd, offset, size, &why);
        close(fd);
        if (s.segment) {
            s.offset = offset;
            *s.segment = (mt_l_segment){.magic = MT_SEGMENT_MAGIC, .kind = kind, .size = size, .rows = rows,
                                        .offset = offset};
            __atomic_store_n(&mt_process.header->end, offset + size, __ATOMIC_RELEASE);
        }
    }
    mt_unlock(MT_LOCK_FILE);
    if (!s.segment)
        mt_recording_full(why);
    errno = saved;
    return s;
}

// Clears memory word by word, because another thread may still be adding up the rows
// that were here.
static void clear(void *at, uint64_t size)
{
    for (uint64_t *word = at; size > 0; size -= sizeof *word)
        mt_write(word++, 0);
}

static mt_segment reuse_segment(uint64_t rows, uint64_t bytes)
{
    mt_segment s = {NULL, 0};
    mt_lock(MT_LOCK_FILE);
    for (int i = 0; i < MT_FREE_SEGMENTS && !s.segment; i++)
        if (free_segments[i].segment && free_segments[i].segment->rows == rows) {
            s = free_segments[i];
            free_segments[i].segment = NULL;
        }
    mt_unlock(MT_LOCK_FILE);
    if (s.segment) {
        clear(s.segment + 1, bytes);
        s.segment->kind = MT_SEGMENT_TABLE;
    }
    return s;
}

mt_segment mt_segment_table(uint64_t rows, uint64_t bytes)
{
    mt_segment s = reuse_segment(rows, bytes);
    if (!s.segment)
        s = append_segment(MT_SEGMENT_TABLE, sizeof(mt_l_segment) + bytes, rows);
    return s;
}

void mt_segment_release(mt_l_segment *segment)
{
    segment->kind = MT_SEGMENT_FREE;
    mt_lock(MT_LOCK_FILE);
    for (int i = 0; i < MT_FREE_SEGMENTS; i++)
        if (!free_segments[i].segment) {
            free_segments[i] = (mt_segment){segment, segment->offset};
            break;
        }
    mt_unlock(MT_LOCK_FILE);
}

// The log segment that is being filled, and how many of its bytes are used.
static struct {
    mt_l_segment *segment;
    uint64_t used;
} log_segment;

static bool reserve_log(uint64_t size)
{
    if (log_segment.segment && log_segment.used + size <= log_segment.segment->size)
        return true;
    uint64_t next = log_segment.segment ? log_segment.segment->size * 2 : MT_MIN_LOG_SEGMENT;
    if (next > 16u << 20)
        next = 16u << 20;
    if (next < size + sizeof(mt_l_segment))
        next = size + sizeof(mt_l_segment);
    mt_segment s = append_segment(MT_SEGMENT_LOG, next, 0);
    if (!s.segment)
        return false;
    log_segment.segment = s.segment;
    log_segment.used = sizeof(mt_l_segment);
    return true;
}

void *mt_recording_begin(uint64_t size)
{
    size = (size + 7) & ~7ull;
    if (!mt_process.header || size > UINT32_MAX)
        return NULL;
    mt_lock(MT_LOCK_LOG);
    if (!reserve_log(size)) {
        mt_unlock(MT_LOCK_LOG);
        return NULL;
    }
    mt_l_record *record = (mt_l_record *)((char *)log_segment.segment + log_segment.used);
    record->size = (uint32_t)size;
    return record;
}

uint64_t mt_recording_offset(const void *at)
{
    return log_segment.segment->offset + (uint64_t)((const char *)at - (const char *)log_segment.segment);
}

void mt_recording_commit(void *record, uint32_t kind)
{
    mt_l_record *r = record;
    log_segment.used += r->size;
    __atomic_store_n(&r->kind, kind, __ATOMIC_RELEASE);
    mt_unlock(MT_LOCK_LOG);
}

void mt_recording_string(uint32_t key, const char *text, uint64_t length)
{
    if (length > MT_MAX_STRING)
        length = MT_MAX_STRING;
    mt_l_string *s = mt_recording_begin(sizeof *s + length);
    if (!s)
        return;
    s->key = key;
    s->length = (uint32_t)length;
    memcpy(s + 1, text, length);
    mt_recording_commit(s, MT_RECORD_STRING);
}

// Reads the size limit of the recording. On tmpfs its bytes are memory. 64 MiB hold
// about 130,000 rows.
static void read_limit(void)
{
    const char *text = mt_setting_text(MT_SETTING_MAX_MB);
    char *end = NULL;
    unsigned long long n = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    size_limit = (n && !*end && n <= MT_MAX_MB ? n : MT_DEFAULT_MB) << 20;
    if (text && (!end || *end || n == 0 || n > MT_MAX_MB)) {
        mt_log("MPITRACE_MAX_MB=%s is not a number of MiB from 1 to %d: the limit is %d MiB", text, MT_MAX_MB,
               MT_DEFAULT_MB);
        mt_setting_reject(MT_SETTING_MAX_MB); // not mt_setting_log_rejected: there is no recording yet
    }
}

uint64_t mt_recording_limit(void)
{
    return size_limit;
}

// Returns the number of bytes that every process needs: the header, the first log
// segment and the table of one thread. The table is counted with samples, because it is
// not known yet how calls are timed.
static uint64_t first_bytes(void)
{
    return pages(MT_HEADER_SIZE) + pages(MT_MIN_LOG_SEGMENT) +
           pages(sizeof(mt_l_segment) + MT_MIN_TABLE_ROWS * (sizeof(mt_l_row) + sizeof(mt_l_sample)));
}

// Maps the header, if the place has room for all of these bytes. With less room nothing
// could be recorded, and the next place may have more.
static mt_l_header *map_header(int fd, const char **why)
{
    int rc = reserve(fd, 0, first_bytes());
    if (rc == 0)
        return mt_recording_map(fd, 0, pages(MT_HEADER_SIZE), why);
    *why = strerror(rc);
    return NULL;
}

bool mt_recording_open(void)
{
    read_limit();
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t head = pages(MT_HEADER_SIZE);
    int fd;
    while ((fd = mt_recording_path_next(&place)) >= 0) {
        mt_l_header *h = map_header(fd, &place.why);
        close(fd);
        if (h) {
            memcpy(h->magic, "MPITRACE", 8);
            h->version = MT_VERSION;
            h->byte_order = MT_BYTE_ORDER;
            h->header_size = (uint32_t)head;
            h->world_rank = h->world_size = -1;
            h->pid = (uint32_t)getpid();
            h->clock = mt_process.clock_kind;
            h->start = mt_clock_read_all();
            h->end = head;
            h->state = MT_STATE_RUNNING;
            mt_process.header = h;
            mt_recording_path_note(&place);
            return true;
        }
        unlink(place.path);
    }
    mt_log("nothing is recorded: the recording cannot be created: %s", place.why);
    return false;
}

const mt_recording_path *mt_recording_location(void)
{
    return &place;
}

const char *mt_recording_name(void)
{
    return place.name;
}

bool mt_recording_resume(void)
{
    int fd = mt_recording_path_reopen(&place);
    if (fd < 0)
        return false; // it was moved into the run directory, because it could not stay in its place
    close(fd);
    __atomic_store_n(&mt_process.header->state, MT_STATE_RUNNING, __ATOMIC_RELEASE);
    mt_process.header->finalize_start = mt_process.header->finalize_end = (mt_l_clock){0};
    mt_process.header->checksum = 0;
    return true;
}

// Returns layout.Sum of the file's words, or 0 if the file cannot be read. It reads the
// file, because the segments are mapped at unrelated addresses.
static uint64_t checksum(int fd, uint64_t end)
{
    uint64_t words[512], sum = MT_CHECKSUM_START;
    for (uint64_t at = 0; at < end;) {
        uint64_t rest = end - at;
        ssize_t n = pread(fd, words, rest < sizeof words ? rest : sizeof words, (off_t)at);
        if (n <= 0 || n % 8 != 0)
            return 0;
        for (ssize_t i = 0; i < n / 8; i++) {
            sum = (sum ^ words[i]) * MT_CHECKSUM_FACTOR;
            sum ^= sum >> 32;
        }
        at += (uint64_t)n;
    }
    return sum ? sum : 1;
}

void mt_recording_close(void)
{
    int fd = mt_recording_path_reopen(&place);
    if (fd < 0)
        return;
    // What follows the last segment was reserved and never used. The lock is needed
    // because a thread that makes calls between two sessions may be extending the file.
    mt_lock(MT_LOCK_FILE);
    if (ftruncate(fd, (off_t)mt_process.header->end) != 0) { /* the file stays longer */ }
    mt_process.header->checksum = checksum(fd, mt_process.header->end);
    if (place.in_tmpdir)
        mt_recording_path_deliver(&place, fd, mt_process.header->end);
    mt_unlock(MT_LOCK_FILE);
    close(fd);
}

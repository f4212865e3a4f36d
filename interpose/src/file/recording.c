#define _GNU_SOURCE
#include "file/recording.h"

#include "base/clock.h"
#include "base/job.h"
#include "base/lock.h"
#include "base/settings.h"
#include "file/recording_path.h"
#include "file/storage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Written when the recording is made. Its place changes when it is moved at the end.
static mt_file file;
static const char *alone; // why the recording is not in a container, if one was tried

// Mapped memory behind the last segment, for the next one. Under MT_LOCK_FILE.
static mt_room room;

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

static uint64_t round_up(uint64_t size)
{
    return (size + file.unit - 1) / file.unit * file.unit;
}

// Turns the start of the mapped memory (`room`) into a segment. Header.end is updated last, so
// that readers see only complete segments.
static mt_segment put_segment(uint32_t kind, uint64_t size, uint64_t rows)
{
    mt_l_segment *s = (mt_l_segment *)room.at;
    uint64_t offset = mt_process.header->end;
    *s = (mt_l_segment){.magic = MT_SEGMENT_MAGIC, .kind = kind, .size = size, .rows = rows, .offset = offset};
    __atomic_store_n(&mt_process.header->end, offset + size, __ATOMIC_RELEASE);
    room = (mt_room){room.at + size, room.size - size};
    return (mt_segment){s, offset};
}

// Maps room for `size` bytes. The rest of the old room becomes a free segment, because
// segments follow each other. Returns NULL, or why there is no room.
static const char *map_room(uint64_t size)
{
    const char *why = NULL;
    uint64_t end = mt_process.header->end + room.size;
    if (end + size > size_limit)
        return "it has reached the size that MPITRACE_MAX_MB allows";
    int fd = mt_recording_path_reopen(&file.place);
    if (fd < 0)
        return "its file cannot be reopened";
    mt_room more = file.storage->map(&file, fd, end, size, &why);
    close(fd);
    if (!more.at)
        return why;
    if (room.size)
        put_segment(MT_SEGMENT_FREE, room.size, 0);
    room = more;
    return NULL;
}

// Appends a segment of `size` bytes, or of `least` or more if these fit where `size` do not.
static mt_segment append_segment(uint32_t kind, uint64_t least, uint64_t size, uint64_t rows)
{
    mt_segment s = {NULL, 0};
    const char *why = NULL;
    int saved = errno;
    mt_lock(MT_LOCK_FILE);
    size = round_up(size);
    if (size > room.size && round_up(least) <= room.size)
        size = room.size;
    if (size > room.size)
        why = map_room(size);
    if (!why)
        s = put_segment(kind, size, rows);
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
    bytes += sizeof(mt_l_segment);
    return s.segment ? s : append_segment(MT_SEGMENT_TABLE, bytes, bytes, rows);
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

// The log segment that is being filled, how many of its bytes are used, and the size that the
// next one should have.
static struct {
    mt_l_segment *segment;
    uint64_t used, next;
} log_segment = {.next = MT_MIN_LOG_SEGMENT};

static bool reserve_log(uint64_t size)
{
    if (log_segment.segment && log_segment.used + size <= log_segment.segment->size)
        return true;
    enum { MT_SHORT_LOG = 4 << 10, MT_MAX_LOG = 16 << 20 };
    uint64_t least = size + sizeof(mt_l_segment);
    uint64_t next = least > log_segment.next ? least : log_segment.next - file.overhead; // in an extent of that size
    mt_segment s = append_segment(MT_SEGMENT_LOG, least > MT_SHORT_LOG ? least : MT_SHORT_LOG, next, 0);
    if (!s.segment)
        return false;
    log_segment.next = log_segment.next < MT_MAX_LOG ? log_segment.next * 2 : MT_MAX_LOG;
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
// segment and the table of one thread. With less, nothing could be recorded, and the next
// place may have more. The table is counted with samples, because it is not known yet how
// calls are timed.
static uint64_t first_bytes(uint64_t unit)
{
    uint64_t table = sizeof(mt_l_segment) + MT_MIN_TABLE_ROWS * (sizeof(mt_l_row) + sizeof(mt_l_sample));
    return (MT_HEADER_SIZE / unit + MT_MIN_LOG_SEGMENT / unit + table / unit + 3) * unit;
}

// Returns the inode of this process's namespace of process ids, 0 if it is not known. In
// another namespace, the process has another id, or none.
static uint64_t pid_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static void write_header(char *at)
{
    mt_l_header *h = (mt_l_header *)at;
    memcpy(h->magic, "MPITRACE", 8);
    h->version = MT_VERSION;
    h->byte_order = MT_BYTE_ORDER;
    h->header_size = (uint32_t)round_up(MT_HEADER_SIZE);
    h->world_rank = h->world_size = -1;
    h->pid = (uint32_t)getpid();
    h->pid_namespace = pid_namespace();
    h->clock = mt_process.clock_kind;
    h->start = mt_clock_read_all();
    h->end = h->header_size;
    h->state = MT_STATE_RUNNING;
}

bool mt_recording_open(void)
{
    read_limit();
    while (mt_recording_path_next(&file.place)) {
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        const char **why = &file.place.why;
        if (file.place.shared) {
            room = mt_container.make(&file, MT_HEADER_SIZE, first_bytes(MT_EXTENT_SIZE), write_header, &alone);
            alone = room.at ? NULL : alone;
        }
        if (!room.at)
            room = mt_own_file.make(&file, MT_HEADER_SIZE, first_bytes(page), write_header, why);
        if (room.at) {
            mt_process.header = (mt_l_header *)room.at;
            room = (mt_room){room.at + mt_process.header->end, room.size - mt_process.header->end};
            mt_recording_path_note(&file.place);
            mt_log_recorded();
            return true;
        }
    }
    mt_log("nothing is recorded: the recording cannot be created: %s", file.place.why);
    return false;
}

const char *mt_recording_alone(void)
{
    return !alone && file.place.in_tmpdir ? "the run directory cannot be written to" : alone;
}

const mt_file *mt_recording_file(void)
{
    return &file;
}

const char *mt_recording_name(void)
{
    return file.place.name;
}

static void open_messages(void)
{
    mt_process.header->checksum = 0;
    mt_log_open(true);
}

bool mt_recording_resume(void)
{
    int fd = mt_recording_path_reopen(&file.place);
    if (fd < 0)
        return false; // it was moved into the run directory, because it could not stay in its place
    close(fd);
    __atomic_store_n(&mt_process.header->state, MT_STATE_RUNNING, __ATOMIC_RELEASE);
    mt_process.header->finalize_start = mt_process.header->finalize_end = (mt_l_clock){0};
    open_messages();
    return true;
}

// Returns layout.Sum of the file's words, or 0 if the file cannot be read. It reads the
// file, because the segments are mapped at unrelated addresses.
static uint64_t checksum(int fd, uint64_t end)
{
    uint64_t words[2048], sum = MT_CHECKSUM_START;
    for (uint64_t at = 0; at < end;) {
        uint64_t rest = end - at;
        ssize_t n = file.storage->read(&file, fd, at, words, rest < sizeof words ? rest : sizeof words);
        if (n <= 0 || n % 8 != 0)
            return 0;
        for (ssize_t i = 0; i < n / 8; i++)
            sum = mt_sum(sum, words[i]);
        at += (uint64_t)n;
    }
    return sum ? sum : 1;
}

// Stores the checksum. Messages cannot be added afterwards.
static void seal(int fd, uint64_t end)
{
    mt_log_open(false);
    mt_process.header->checksum = checksum(fd, end);
}

// Ends a copy of a recording whose container was removed: on another node, `mpitrace` may have
// packed the container when this process began. The header's copy has no checksum yet.
static void end_copy(int fd)
{
    const uint64_t *sum = &mt_process.header->checksum;
    char final[sizeof file.place.path];
    memcpy(final, file.place.path, sizeof final);
    *strrchr(final, '.') = 0;
    if (!mt_storage_write_at(fd, sum, sizeof *sum, offsetof(mt_l_header, checksum)) ||
        rename(file.place.path, final) != 0)
        unlink(file.place.path);
    file.place.path[0] = 0; // it cannot be resumed
}

void mt_recording_close(void)
{
    // The lock is needed because a thread that makes calls between two sessions may be
    // extending the file.
    mt_lock(MT_LOCK_FILE);
    uint64_t end = mt_process.header->end;
    int fd = mt_recording_path_reopen(&file.place);
    bool removed = fd < 0 && mt_recording_path_removed(&file.place);
    if (removed)
        fd = file.storage->save(&file, end);
    if (fd >= 0) {
        file.storage->trim(&file, fd, end); // what follows the last segment was never used
        seal(fd, end);
        if (removed) {
            end_copy(fd);
        } else if (file.place.in_tmpdir && !mt_recording_path_deliver(&file.place, fd, end)) {
            open_messages();
            mt_log("the recording stays in %s: it cannot be copied to the run directory", file.place.path);
            seal(fd, end);
        }
        close(fd);
    }
    mt_unlock(MT_LOCK_FILE);
}

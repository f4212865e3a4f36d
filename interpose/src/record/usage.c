#define _GNU_SOURCE
#include "record/usage.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "file/recording.h"

#include <stdlib.h>
#include <sys/resource.h>

// Both are written under MT_LOCK_SLICE: when a slice ends, and in MPI_Init and MPI_Finalize.
//
// The latest reading. Its ticks are 0 before the first reading.
static mt_l_usage last_reading;

// The record of each slice that has ended at least once, NULL for others. A slice that
// is entered repeatedly adds to its one record, so that the recording does not grow.
static mt_l_usage **records;
static uint32_t records_length;

static uint64_t nanoseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

// Reads the time in ns in which the main thread was ready to run and had no processor:
// the second number of the file. Returns false on kernels that do not count it.
static bool read_delay(uint64_t *delay)
{
    char text[128], *rest;
    if (mt_procfs_read("/proc/self/schedstat", text, sizeof text) <= 0)
        return false;
    strtoull(text, &rest, 10);
    if (*rest != ' ')
        return false;
    *delay = strtoull(rest, NULL, 10);
    return true;
}

static mt_l_usage read_usage(void)
{
    struct rusage u;
    mt_l_usage r = {.ticks = mt_ticks()};
    if (getrusage(RUSAGE_SELF, &u) == 0) {
        r.user_ns = nanoseconds(u.ru_utime);
        r.system_ns = nanoseconds(u.ru_stime);
        r.voluntary = (uint64_t)u.ru_nvcsw;
        r.involuntary = (uint64_t)u.ru_nivcsw;
    }
    r.delay_known = read_delay(&r.run_delay);
    return r;
}

void mt_usage_open(void)
{
    last_reading = read_usage();
}

static bool make_room(uint32_t slice)
{
    uint32_t length = records_length ? records_length : 16;
    while (length <= slice)
        length *= 2;
    mt_l_usage **wider = realloc(records, length * sizeof *wider);
    if (!wider)
        return false;
    for (uint32_t i = records_length; i < length; i++)
        wider[i] = NULL;
    records = wider;
    records_length = length;
    return true;
}

// Returns the record of a slice, or NULL if there is no room.
static mt_l_usage *record_of(uint32_t slice)
{
    if (slice >= records_length && !make_room(slice))
        return NULL;
    if (records[slice])
        return records[slice];
    mt_l_usage *r = mt_recording_begin(sizeof *r);
    if (!r)
        return NULL;
    r->slice = slice;
    r->delay_known = 1;
    mt_recording_commit(r, MT_RECORD_USAGE);
    return records[slice] = r;
}

static void add_difference(uint64_t *word, uint64_t from, uint64_t to)
{
    if (to > from)
        mt_write(word, *word + (to - from));
}

void mt_usage_slice_ends(uint32_t slice)
{
    if (last_reading.ticks == 0)
        return;
    mt_l_usage before = last_reading, *r = record_of(slice);
    last_reading = read_usage();
    if (!r)
        return;
    add_difference(&r->ticks, before.ticks, last_reading.ticks);
    add_difference(&r->user_ns, before.user_ns, last_reading.user_ns);
    add_difference(&r->system_ns, before.system_ns, last_reading.system_ns);
    add_difference(&r->voluntary, before.voluntary, last_reading.voluntary);
    add_difference(&r->involuntary, before.involuntary, last_reading.involuntary);
    add_difference(&r->run_delay, before.run_delay, last_reading.run_delay);
    if (!before.delay_known || !last_reading.delay_known)
        r->delay_known = 0;
}

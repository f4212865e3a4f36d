#define _GNU_SOURCE
#include "record/usage.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/procfs.h"
#include "file/recording.h"

#include <dirent.h>
#include <stdio.h>
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

// Reads a thread's schedstat: CPU time, delay, and how often it was given a processor.
// Kernels that do not count them have no such file, or zeros in it. (The CPU time of a
// new thread is 0, too, until its first tick.)
static bool read_schedstat(const char *path, mt_thread_use *use)
{
    char text[128], *rest;
    if (mt_procfs_read(path, text, sizeof text) <= 0)
        return false;
    use->cpu = strtoull(text, &rest, 10);
    if (*rest != ' ')
        return false;
    use->delay = strtoull(rest, &rest, 10);
    return *rest == ' ' && strtoull(rest, NULL, 10) > 0;
}

bool mt_usage_of_thread(long thread, mt_thread_use *use)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", thread);
    return read_schedstat(path, use);
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
    mt_thread_use main = {0};
    r.delay_known = read_schedstat("/proc/self/schedstat", &main);
    r.run_delay = main.delay;
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

// The CPU times of the threads of the process.
typedef struct mt_cpu_times {
    uint64_t *cpu;
    uint32_t count, length;
    uint64_t busiest;
} mt_cpu_times;

static bool add_cpu_time(mt_cpu_times *times, uint64_t cpu)
{
    if (times->count == times->length) {
        uint32_t length = times->length ? 2 * times->length : 64;
        uint64_t *wider = realloc(times->cpu, length * sizeof *wider);
        if (!wider)
            return false;
        times->cpu = wider;
        times->length = length;
    }
    times->cpu[times->count++] = cpu;
    if (cpu > times->busiest)
        times->busiest = cpu;
    return true;
}

// Reads the CPU time of each thread of the process. Threads that end meanwhile do not
// count. Returns false if the kernel does not count CPU times, or if there is no memory.
static bool read_cpu_times(mt_cpu_times *times)
{
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return false;
    bool room = true;
    for (struct dirent *entry; room && (entry = readdir(tasks));) {
        mt_thread_use use;
        char *rest;
        long thread = strtol(entry->d_name, &rest, 10);
        bool named = *rest == '\0' && thread > 0; // not . and ..
        if (named && mt_usage_of_thread(thread, &use))
            room = add_cpu_time(times, use.cpu);
    }
    closedir(tasks);
    return room && times->count > 0;
}

enum { MT_BUSY = 20 }; // a thread is busy that has this fraction of the CPU time of the busiest

void mt_usage_count_threads(void)
{
    mt_cpu_times times = {0};
    mt_protect();
    if (read_cpu_times(&times)) {
        uint32_t busy = 0;
        for (uint32_t i = 0; i < times.count; i++)
            busy += times.cpu[i] >= times.busiest / MT_BUSY;
        mt_process.header->busy_threads = busy;
        mt_process.header->threads = times.count;
    }
    free(times.cpu);
    mt_unprotect();
}

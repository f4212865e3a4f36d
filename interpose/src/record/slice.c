#include "record/slice.h"

#include "base/lock.h"
#include "base/settings.h"
#include "file/recording.h"
#include "file/settings_log.h"
#include "record/trace.h"
#include "record/usage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The largest number of slices. Each slice has rows of its own. With the largest number
// of rows that a thread can have, this leaves about fifty rows for each slice.
enum { MT_SLICES = 1 << 14, MT_SLICE_NAME = MT_PHASE_NAME + 32 };

static _Atomic uint64_t interval_end = UINT64_MAX; // ticks at which the interval ends

// All below is changed rarely, and under the lock only.

// The names of slices, with a hash table, so that finding a name does not take longer
// when there are many.
static struct {
    char **names; // by index
    uint32_t *index; // hash table of 2 * capacity entries: index + 1, or 0 if the entry is empty
    uint32_t count, capacity;
} table;

static char phase[MT_PHASE_NAME + 1] = "run";
static mt_phase *unnamed_phases; // the latest phase without a name
static bool named;               // `phase` began after `unnamed_phases`
static uint32_t current_slice; // the slice of calls that begin now

static struct {
    uint64_t length, number; // in ns; how many have passed
    uint64_t unit;           // value in ms of the last digit of the seconds in a name
    int decimals;
} interval;

static bool log_slice(uint32_t index, const char *name)
{
    uint64_t length = strlen(name);
    mt_l_slice *s = mt_recording_begin(sizeof *s + length);
    if (!s)
        return false;
    s->index = index;
    s->length = (uint32_t)length;
    s->start = mt_ticks();
    memcpy(s + 1, name, length);
    mt_recording_commit(s, MT_RECORD_SLICE);
    return true;
}

// Returns the entry of a name in the hash table, or the empty entry where it belongs.
static uint32_t *place_of(const char *name)
{
    uint64_t hash = 14695981039346656037u; // FNV-1a
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    uint32_t mask = 2 * table.capacity - 1, i = (uint32_t)(hash >> 20) & mask;
    while (table.index[i] && strcmp(table.names[table.index[i] - 1], name) != 0)
        i = (i + 1) & mask;
    return &table.index[i];
}

static bool grow_table(void)
{
    uint32_t capacity = table.capacity ? 2 * table.capacity : 64;
    char **names = realloc(table.names, capacity * sizeof *names);
    if (!names)
        return false;
    table.names = names;
    uint32_t *index = calloc(2 * (size_t)capacity, sizeof *index);
    if (!index)
        return false;
    free(table.index);
    table.index = index;
    table.capacity = capacity;
    for (uint32_t i = 0; i < table.count; i++)
        *place_of(names[i]) = i + 1;
    return true;
}

// Returns the latest slice, which continues because there is no memory for another.
static uint32_t log_no_memory(void)
{
    static bool reported;
    if (!reported)
        mt_log("no memory for more than %u slices on rank %d: further calls are counted in the current slice",
               table.count, mt_process.world_rank);
    reported = true;
    return current_slice;
}

// Returns the slice of a name, which is made if it is new. If a program uses too many
// names, the further ones share the last slice.
static uint32_t slice_of(const char *name)
{
    if (table.count == table.capacity && !grow_table())
        return log_no_memory();
    uint32_t *place = place_of(name);
    if (*place)
        return *place - 1;
    if (table.count == MT_SLICES)
        return MT_SLICES - 1;
    if (table.count == MT_SLICES - 1) {
        mt_log("rank %d has more than %d slices: further ones are combined in the slice \"others\"",
               mt_process.world_rank, MT_SLICES - 1);
        place = place_of(name = "others");
        if (*place)
            return *place - 1;
    }
    char *copy = strdup(name);
    if (!copy)
        return log_no_memory();
    if (!log_slice(table.count, name)) {
        free(copy);
        return current_slice;
    }
    table.names[table.count++] = copy;
    *place = table.count;
    return table.count - 1;
}

// Begins the slice of the current phase and interval. (The name is not formatted with
// %f, because its decimal point depends on the program's locale.)
static void begin(bool resume)
{
    char name[MT_SLICE_NAME];
    const char *phase_now = unnamed_phases && !named ? unnamed_phases->name : phase;
    uint64_t ms = interval.number * (interval.length / 1000000);
    if (!interval.length)
        snprintf(name, sizeof name, "%s", phase_now);
    else if (interval.decimals == 0)
        snprintf(name, sizeof name, "%s@%" PRIu64 "s", phase_now, ms / 1000);
    else
        snprintf(name, sizeof name, "%s@%" PRIu64 ".%0*" PRIu64 "s", phase_now, ms / 1000, interval.decimals,
                 ms % 1000 / interval.unit);
    uint32_t next = slice_of(name);
    if (next != current_slice) {
        MT_CALL_HOOK(slice_ends, current_slice);
        mt_usage_slice_ends(current_slice);
    }
    current_slice = next;
    mt_trace_slice(name);
    atomic_store_explicit(&mt_process.hot.slice, current_slice, memory_order_relaxed);
    if (resume)
        mt_flag_set(MT_FLAG_PAUSED, false);
}

static void set_phase(const char *name, bool resume)
{
    int saved = errno;
    mt_lock(MT_LOCK_SLICE);
    snprintf(phase, sizeof phase, "%s", name);
    named = true;
    begin(resume);
    mt_unlock(MT_LOCK_SLICE);
    errno = saved;
}

void mt_slice_open(void)
{
    mt_lock(MT_LOCK_SLICE);
    begin(false);
    mt_unlock(MT_LOCK_SLICE);
}

void mt_slice_close(void)
{
    mt_lock(MT_LOCK_SLICE);
    mt_usage_slice_ends(current_slice);
    mt_unlock(MT_LOCK_SLICE);
}

void mt_slice_pcontrol(int level)
{
    char name[32];
    if (!mt_on() || level < 0)
        return;
    if (level > 1) {
        snprintf(name, sizeof name, "%d", level);
        set_phase(name, true);
        return;
    }
    mt_lock(MT_LOCK_SLICE);
    if (level == 0 && !(mt_flags() & MT_FLAG_PAUSED))
        mt_process.header->pauses++;
    mt_flag_set(MT_FLAG_PAUSED, level == 0);
    mt_unlock(MT_LOCK_SLICE);
}

// Renames a slice by logging it again: readers take its latest name.
static void rename_slice(uint32_t index, const char *name)
{
    char *copy = strdup(name);
    if (copy && log_slice(index, name)) {
        free(table.names[index]);
        table.names[index] = copy;
    } else {
        free(copy);
        log_no_memory();
    }
}

// Fills the hash table anew. Of two slices with the same name the first is found.
static void index_names(void)
{
    memset(table.index, 0, 2 * (size_t)table.capacity * sizeof *table.index);
    for (uint32_t i = 0; i < table.count; i++) {
        uint32_t *place = place_of(table.names[i]);
        if (!*place)
            *place = i + 1;
    }
}

static void rename_phase(const mt_phase *p, const char *to)
{
    size_t length = strlen(p->name);
    char name[MT_SLICE_NAME];
    for (uint32_t i = p->first; i < table.count; i++) {
        const char *rest = strncmp(table.names[i], p->name, length) == 0 ? table.names[i] + length : "-";
        if (*rest && *rest != '@')
            continue;
        snprintf(name, sizeof name, "%.*s%s", MT_PHASE_NAME, to, rest);
        rename_slice(i, name);
    }
    index_names();
}

void mt_slice_phase_begins(mt_phase *p)
{
    static unsigned begun;
    int saved = errno;
    mt_lock(MT_LOCK_SLICE);
    do { // skip names that the program uses itself
        snprintf(p->name, sizeof p->name, "phase %u", ++begun);
    } while (table.capacity > 0 && *place_of(p->name));
    p->first = table.count;
    p->named_before = named;
    named = false;
    p->below = unnamed_phases;
    unnamed_phases = p;
    if (mt_on())
        begin(false);
    mt_unlock(MT_LOCK_SLICE);
    errno = saved;
}

void mt_slice_phase_ends(mt_phase *p, const char *name)
{
    int saved = errno;
    mt_lock(MT_LOCK_SLICE);
    mt_phase **at = &unnamed_phases;
    while (*at && *at != p)
        at = &(*at)->below;
    bool under_way = *at != NULL;
    if (under_way && p == unnamed_phases)
        named |= p->named_before;
    if (under_way)
        *at = p->below;
    if (under_way && mt_on()) {
        if (name)
            rename_phase(p, name);
        begin(false);
    }
    mt_unlock(MT_LOCK_SLICE);
    errno = saved;
}

// Called by mpitrace.h.
MT_EXPORT void mpitrace_begin_phase(const char *name);

MT_EXPORT void mpitrace_begin_phase(const char *name)
{
    if (mt_on() && name && *name)
        set_phase(name, false);
}

// Finds out which interval it is now, and when the next begins.
static void update_interval(void)
{
    uint64_t next;
    interval.number = mt_clock_periods(&mt_process.header->init_end, interval.length, &next);
    mt_store(&interval_end, next);
}

bool mt_slice_is_interval(const char *text)
{
    return strcmp(text, "off") == 0 || mt_clock_parse(text);
}

void mt_slice_set_interval(const char *text)
{
    mt_lock(MT_LOCK_SLICE);
    mt_store(&interval_end, UINT64_MAX);
    interval.length = mt_clock_parse(text);
    interval.unit = 1000;
    interval.decimals = 0;
    for (; interval.length / 1000000 % interval.unit != 0; interval.decimals++)
        interval.unit /= 10;
    if (interval.length)
        update_interval();
    begin(false);
    mt_flag_set(MT_FLAG_INTERVAL, interval.length != 0);
    mt_unlock(MT_LOCK_SLICE);
}

void mt_slice_open_intervals(void)
{
    const char *text = mt_setting_text(MT_SETTING_INTERVAL);
    if (!text)
        return;
    if (mt_slice_is_interval(text)) {
        mt_slice_set_interval(text);
        return;
    }
    mt_log("MPITRACE_INTERVAL=%s is not a time such as 100ms or 2s: the run is not cut into intervals", text);
    mt_setting_log_rejected(MT_SETTING_INTERVAL);
}

void mt_slice_check_interval(void)
{
    if (mt_ticks() < mt_load(&interval_end))
        return;
    int saved = errno;
    mt_lock(MT_LOCK_SLICE);
    if (mt_ticks() >= mt_load(&interval_end)) { // no other thread has done this meanwhile
        uint64_t before = interval.number;
        update_interval();
        if (interval.number != before)
            begin(false);
    }
    mt_unlock(MT_LOCK_SLICE);
    errno = saved;
}

#include "slice.h"

#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Each slice has rows of its own: this many, with the rows that a thread can
// have, leave room for some fifty in each.
enum { MT_SLICES = 1 << 14, MT_PHASE_NAME = 200, MT_SLICE_NAME = MT_PHASE_NAME + 32 };

static _Atomic uint64_t until = UINT64_MAX; // ticks at which the interval ends

// All below is changed under the lock only, and seldom.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Names by hash, for as many as there may be: a name's slice is found as
// quickly when there are many.
static struct {
    char **names; // by index
    uint32_t *index; // by hash: index + 1, 0 where there is none
    uint32_t count, capacity;
} table;

static char phase[MT_PHASE_NAME + 1] = "run";
static uint32_t latest; // the slice of calls that begin now

static struct {
    uint64_t length, number; // ns; how many have passed
    uint64_t unit;           // ms of the last digit of a name's seconds
    int decimals;
} interval;

static bool log_slice(uint32_t index, const char *name)
{
    uint64_t length = strlen(name);
    mt_l_slice *s = mt_log_begin(sizeof *s + length);
    if (!s)
        return false;
    s->index = index;
    s->length = (uint32_t)length;
    s->start = mt_ticks();
    memcpy(s + 1, name, length);
    mt_log_commit(s, MT_RECORD_SLICE);
    return true;
}

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

static bool widen(void)
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

// The slice of a name. Names without end share the last one.
static uint32_t slice_of(const char *name)
{
    if (table.count == table.capacity && !widen())
        return latest;
    uint32_t *place = place_of(name);
    if (*place)
        return *place - 1;
    if (table.count == MT_SLICES)
        return MT_SLICES - 1;
    if (table.count == MT_SLICES - 1) {
        mt_say("more than %d slices: the others are one (rank %d)", MT_SLICES - 1, mt_world_rank);
        place = place_of(name = "others");
        if (*place)
            return *place - 1;
    }
    char *copy = strdup(name);
    if (!copy || !log_slice(table.count, name)) {
        free(copy);
        return latest;
    }
    table.names[table.count++] = copy;
    *place = table.count;
    return table.count - 1;
}

// Calls that begin from now on are of this phase and interval. (Not by %f: its
// decimal point is the program's locale's.)
static void begin(bool resume)
{
    char name[MT_SLICE_NAME];
    uint64_t ms = interval.number * (interval.length / 1000000);
    if (!interval.length)
        snprintf(name, sizeof name, "%s", phase);
    else if (interval.decimals == 0)
        snprintf(name, sizeof name, "%s@%" PRIu64 "s", phase, ms / 1000);
    else
        snprintf(name, sizeof name, "%s@%" PRIu64 ".%0*" PRIu64 "s", phase, ms / 1000, interval.decimals,
                 ms % 1000 / interval.unit);
    latest = slice_of(name);
    atomic_store_explicit(&mt_at_call.slice, latest, memory_order_relaxed);
    if (resume)
        mt_gate_set(MT_GATE_PAUSED, false);
}

static void set_phase(const char *name, bool resume)
{
    int saved = errno;
    pthread_mutex_lock(&lock);
    snprintf(phase, sizeof phase, "%s", name);
    begin(resume);
    pthread_mutex_unlock(&lock);
    errno = saved;
}

void mt_slice_open(void)
{
    pthread_mutex_lock(&lock);
    begin(false);
    pthread_mutex_unlock(&lock);
}

void mt_slice_level(int level)
{
    char name[32];
    if (!mt_on() || level < 0)
        return;
    if (level > 1) {
        snprintf(name, sizeof name, "%d", level);
        set_phase(name, true);
        return;
    }
    pthread_mutex_lock(&lock);
    if (level == 0 && !(mt_gate() & MT_GATE_PAUSED))
        mt_header->pauses++;
    mt_gate_set(MT_GATE_PAUSED, level == 0);
    pthread_mutex_unlock(&lock);
}

// What mpitrace.h calls.
MT_EXPORT void mpitrace_begin_phase(const char *name);

MT_EXPORT void mpitrace_begin_phase(const char *name)
{
    if (mt_on() && name && *name)
        set_phase(name, false);
}

// Whole ms or s: 100ms, 2s. 0 for anything else.
static uint64_t length_of(const char *text)
{
    char *unit;
    uint64_t n = *text >= '0' && *text <= '9' ? strtoull(text, &unit, 10) : 0;
    if (n == 0 || n > 1000000000)
        return 0;
    return strcmp(unit, "ms") == 0 ? n * 1000000 : strcmp(unit, "s") == 0 ? n * 1000000000 : 0;
}

// Finds out in which interval we are, and at how many ticks the next begins:
// the rate of the ticks is what it was from the start of the recording up to
// now, and an end that was foretold too early is foretold again.
static void look_at_clock(void)
{
    mt_l_clock now = mt_clock_all();
    const mt_l_clock *zero = &mt_header->init_end, *start = &mt_header->start;
    uint64_t elapsed = now.monotonic - zero->monotonic, left = interval.length - elapsed % interval.length;
    double rate = (double)(now.ticks - start->ticks) / (double)(now.monotonic - start->monotonic + 1);
    interval.number = elapsed / interval.length;
    mt_store(&until, now.ticks + (uint64_t)((double)left * rate) + 1);
}

void mt_slice_intervals(void)
{
    const char *text = getenv("MPITRACE_INTERVAL");
    if (!text || !*text)
        return;
    interval.length = length_of(text);
    if (!interval.length) {
        mt_say("MPITRACE_INTERVAL=%s is no time like 100ms or 2s: the run is not cut into intervals", text);
        return;
    }
    interval.unit = 1000;
    for (; interval.length / 1000000 % interval.unit != 0; interval.decimals++)
        interval.unit /= 10;
    pthread_mutex_lock(&lock);
    look_at_clock();
    begin(false);
    mt_gate_set(MT_GATE_INTERVAL, true);
    pthread_mutex_unlock(&lock);
}

// A call begins: is it in the next interval?
void mt_slice_look(void)
{
    if (mt_ticks() < mt_load(&until))
        return;
    int saved = errno;
    pthread_mutex_lock(&lock);
    if (mt_ticks() >= mt_load(&until)) { // no other thread was here first
        uint64_t before = interval.number;
        look_at_clock();
        if (interval.number != before)
            begin(false);
    }
    pthread_mutex_unlock(&lock);
    errno = saved;
}

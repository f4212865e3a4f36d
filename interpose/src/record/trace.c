#include "record/trace.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/settings.h"
#include "file/events.h"
#include "file/recording.h"
#include "file/settings_log.h"
#include "record/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>


// The chunks that are mapped: one for each thread, which is filled again and again.
// Of the last events, and where writing is dear, as many as there is room for. All
// below is used with the lock held.
typedef struct mt_slot {
    mt_l_chunk *chunk;
    uint64_t sequence; // of the chunk
    bool filling;      // some thread's; else it is full
    mt_thread *idle;   // the thread, if that has ended: the next one takes it over, or, of the last events, another
} mt_slot;

static mt_slot *slots;
static uint64_t mapped, most;      // how many there are, and may be
static uint64_t room;              // how many chunks the file beside the recording may have
static uint64_t left = UINT64_MAX; // how many may be filled yet
static bool ring;                  // the oldest is used again
static bool stopped;               // nothing more is kept
static _Atomic bool over;          // threads without a chunk get none: read without the lock

static mt_l_eventsheader *events;
static const char *slice_names; // NULL: all
static uint32_t requests;

// Bytes of events that a process may keep at most, if nothing else is said.
#define MT_MOST_EVENTS ((uint64_t)1 << 40)

// Chunks that may be mapped, but of the last events: a process has room for some
// 65,000 mappings, which are the application's.
#define MT_MOST_MAPPED 4096

// What is said of a setting, but for the word that stands for nothing.
static const char *chosen(mt_setting s)
{
    const char *text = mt_setting_text(s);
    return text && strcmp(text, mt_settings[s].otherwise) != 0 ? text : NULL;
}

static uint64_t bytes_of(mt_setting s, uint64_t otherwise)
{
    const char *text = chosen(s), *units = "KMGT";
    char *end = NULL;
    uint64_t n = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    const char *unit = end && *end ? strchr(units, *end) : NULL;
    uint64_t shift = unit ? 10 * (uint64_t)(unit - units + 1) : 0;
    if (n && shift && n <= MT_MOST_EVENTS >> shift && n << shift >= MT_CHUNK_SIZE && !end[1])
        return n << shift;
    if (text) {
        mt_log("%s=%s is no size like 64M or 2G", mt_settings[s].variable, text);
        mt_setting_refuse(s);
    }
    return otherwise;
}

// Whether a list of names has this one.
static bool lists(const char *list, const char *name, size_t length)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    }
    return false;
}

static const char *class_of(unsigned call)
{
    switch (mt_call_infos[call].class) {
    case MT_CLASS_P2P:
        return "p2p";
    case MT_CLASS_O2A:
    case MT_CLASS_A2O:
    case MT_CLASS_A2A:
        return "coll";
    case MT_CLASS_ONE_SIDED:
    case MT_CLASS_SYNC:
        return "one-sided";
    case MT_CLASS_IO:
        return "io";
    }
    return "other";
}

// Whether the open line's count says something: a tag, which window, what was made.
static bool tells_count(unsigned call)
{
    switch (mt_call_infos[call].class) {
    case MT_CLASS_P2P:
    case MT_CLASS_ONE_SIDED:
    case MT_CLASS_SYNC:
        return true;
    }
    return mt_call_makes_window(call) || mt_call_frees_window(call) || mt_call_by_members(call);
}

static void choose_calls(void)
{
    const char *classes = chosen(MT_SETTING_TRACE_CLASSES);
    for (unsigned call = 0; call < MT_CALL_END; call++) {
        const char *class = class_of(call);
        if (classes && !lists(classes, class, strlen(class)))
            mt_record.trace_how[call] = MT_TRACE_NOT;
        else
            mt_record.trace_how[call] = tells_count(call) ? MT_TRACE_TAGGED : MT_TRACE_PLAIN;
    }
    events->cut |= classes ? MT_CUT_CLASSES : 0;
}

static bool wanted(void)
{
    const char *text = mt_setting_text(MT_SETTING_TRACE);
    if (!text || lists("off,0,no,false", text, strlen(text)))
        return false;
    if (mt_process.header->timing == MT_TIMING_EXACT && mt_process.header->receives == MT_RECEIVES_FOLLOWED)
        return true;
    mt_log("a trace needs the time of each call and of each receive: nothing is traced with --timing other than exact, "
           "or --receives off");
    mt_setting_refuse(MT_SETTING_TRACE);
    return false;
}

void mt_trace_open(void)
{
    if (!wanted())
        return;
    uint64_t buffer = bytes_of(MT_SETTING_TRACE_BUFFER, 64 << 20), limit = bytes_of(MT_SETTING_TRACE_LIMIT, 0);
    const char *keep = mt_setting_text(MT_SETTING_KEEP);
    ring = keep && strcmp(keep, "last") == 0;
    room = (ring && limit ? limit : buffer) / MT_CHUNK_SIZE;
    most = ring ? room : MT_MOST_MAPPED;
    if (limit && !ring)
        left = limit / MT_CHUNK_SIZE;
    slots = calloc(most, sizeof *slots);
    events = slots ? mt_events_open() : NULL;
    if (!events) {
        mt_log("nothing is traced: there is no room for the events");
        mt_setting_refuse(MT_SETTING_TRACE);
        return;
    }
    slice_names = chosen(MT_SETTING_TRACE_SLICES);
    events->cut |= slice_names ? MT_CUT_SLICES : 0;
    choose_calls();
    mt_record.trace_on = true;
    mt_enter_set(MT_ENTER_TRACE, true);
}

static bool lists_rank(const char *list, int rank)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        char *end;
        at += *at == ',';
        long from = strtol(at, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
        if (rank >= from && rank <= to)
            return true;
    }
    return false;
}

// Until it has a rank a process is traced, and then as if it never was.
void mt_trace_rank(int rank)
{
    const char *ranks = chosen(MT_SETTING_RANKS);
    if (!mt_record.trace_on || !ranks || lists_rank(ranks, rank))
        return;
    mt_enter_set(MT_ENTER_TRACE, false);
    mt_lock(MT_LOCK_EVENTS);
    stopped = true;
    mt_events_remove();
    mt_unlock(MT_LOCK_EVENTS);
}

void mt_trace_slice(const char *name)
{
    if (mt_record.trace_on && slice_names && !stopped)
        mt_enter_set(MT_ENTER_TRACE, lists(slice_names, name, strcspn(name, "@")));
}

// Says once that a file has no room.
static void say_full(const char *why)
{
    room = 0;
    mt_log("the trace has %u KiB in %s and no more: %s; %s", (unsigned)(events->chunks * (MT_CHUNK_SIZE >> 10)),
           mt_events_in_memory() ? "memory" : mt_events_path(MT_EVENTS_NEAR), why,
           ring ? "fewer of the last events are kept" : "the rest goes to the run directory");
}

static mt_slot *map_slot(bool far_too)
{
    const char *why;
    mt_l_chunk *c = NULL;
    if (mapped == most)
        return NULL;
    if (events->chunks < room && !(c = mt_events_map(MT_EVENTS_NEAR, &why)))
        say_full(why);
    if (!c && far_too && !(c = mt_events_map(MT_EVENTS_FAR, &why)))
        mt_log("no further thread is traced: there is no room in %s: %s", mt_events_path(MT_EVENTS_FAR), why);
    if (!c)
        return NULL;
    slots[mapped].chunk = c;
    return &slots[mapped++];
}

static mt_slot *oldest(bool idle)
{
    mt_slot *found = NULL;
    for (uint64_t i = 0; i < mapped; i++)
        if ((idle ? slots[i].idle != NULL : !slots[i].filling) && (!found || slots[i].sequence < found->sequence))
            found = &slots[i];
    return found;
}

// The chunk of a thread that ended, for one that has none.
static mt_slot *inherited(void)
{
    mt_slot *s = oldest(true);
    if (s) {
        s->idle->chunk = &mt_record.trace_full;
        s->idle = NULL;
    }
    return s;
}

// A chunk that was filled goes behind the others, and where they have no more room
// to the run directory.
static bool put_away(const mt_slot *s)
{
    const char *why;
    if (events->chunks < room) {
        if (mt_events_write(MT_EVENTS_NEAR, s->chunk, &why))
            return true;
        say_full(why);
    }
    if (mt_events_write(MT_EVENTS_FAR, s->chunk, &why))
        return true;
    mt_log("the trace cannot be written on to %s: %s; what comes now is counted, and no longer traced",
           mt_events_path(MT_EVENTS_FAR), why);
    return false;
}

static mt_slot *next_slot(void)
{
    if (stopped || left == 0)
        return NULL;
    mt_slot *s = ring || !mt_events_in_memory() ? map_slot(false) : NULL;
    if (!s && ((s = oldest(false)) || (ring && (s = inherited())))) {
        if (ring) {
            events->cut |= MT_CUT_RING;
            mt_lost(&events->dropped, s->chunk->count);
        } else if (!put_away(s)) {
            stopped = true;
            return NULL;
        }
    }
    if (!s && !ring)
        s = map_slot(true);
    if (s)
        __atomic_store_n(&s->chunk->count, 0, __ATOMIC_RELEASE); // before anything else of it
    return s;
}

// The slot of a thread's chunk; NULL if it has none.
static mt_slot *slot_of(const mt_thread *t)
{
    for (uint64_t i = 0; i < mapped && t->chunk != &mt_record.trace_full; i++)
        if (slots[i].chunk == t->chunk)
            return &slots[i];
    return NULL;
}

static void hand_back(const mt_thread *t)
{
    mt_slot *s = slot_of(t);
    if (s)
        s->filling = false;
}

// Threads that got no chunk ask again when one of another thread is free.
static void thread_ended(mt_thread *t)
{
    if (!mt_record.trace_on)
        return;
    mt_lock(MT_LOCK_EVENTS);
    mt_slot *s = slot_of(t);
    if (s)
        s->idle = t;
    if (s && ring)
        atomic_store(&over, false);
    mt_unlock(MT_LOCK_EVENTS);
}

MT_REGISTER(thread_ended, thread_ended);

static void thread_started(mt_thread *t)
{
    if (!mt_record.trace_on)
        return;
    mt_lock(MT_LOCK_EVENTS);
    mt_slot *s = slot_of(t);
    if (s)
        s->idle = NULL;
    mt_unlock(MT_LOCK_EVENTS);
}

MT_REGISTER(thread_started, thread_started);

mt_l_chunk *mt_trace_chunk(mt_thread *t)
{
    static uint64_t sequence;
    if (t->chunk == &mt_record.trace_full && atomic_load_explicit(&over, memory_order_relaxed)) {
        mt_lost(&events->dropped, 1);
        return NULL;
    }
    int saved = errno;
    mt_lock(MT_LOCK_EVENTS);
    hand_back(t);
    mt_slot *s = next_slot();
    t->chunk = s ? s->chunk : &mt_record.trace_full;
    if (s) {
        left -= left != UINT64_MAX;
        s->filling = true;
        s->sequence = ++sequence;
        *s->chunk = (mt_l_chunk){.magic = MT_CHUNK_MAGIC, .thread = t->index, .sequence = sequence};
    } else {
        events->cut |= left == 0 ? MT_CUT_LIMIT : MT_CUT_NO_ROOM;
        mt_lost(&events->dropped, 1);
        atomic_store(&over, true);
    }
    mt_unlock(MT_LOCK_EVENTS);
    errno = saved;
    return s ? s->chunk : NULL;
}

uint32_t mt_trace_number(mt_thread *t)
{
    t->posts = mt_process.multiple ? __atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED) : ++requests;
    return t->posts;
}

// When the thread's latest call returned; in a pause it is not known.
static uint64_t latest(const mt_thread *t)
{
    return t->open->last && !(mt_enter_flags() & MT_ENTER_PAUSED) ? t->open->last : mt_ticks();
}

void mt_trace_completed(uint32_t request)
{
    mt_thread *t = mt_self;
    if (t && request && mt_traced())
        mt_trace_event(t, MT_EVENT_COMPLETED, latest(t), 0, 0, MT_EVENT_NO_TAG, request);
}

void mt_trace_beside(mt_thread *t, const mt_row *row, mt_key k, uint64_t bytes, int32_t tag, uint32_t request)
{
    if (mt_record.trace_how[(uint16_t)(k.what >> 32)] != MT_TRACE_NOT)
        mt_trace_event(t, mt_trace_row(t, row), latest(t), 0, bytes, tag, request);
}

uint64_t mt_trace_clamped(uint64_t value)
{
    uint64_t largest = ((uint64_t)1 << 48) - 1;
    return (int64_t)value < 0 ? 0 : value > largest ? largest : value;
}

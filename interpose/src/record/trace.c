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


// The chunks that are mapped. There is one for each thread, which fills it again and
// again. If only the last events are kept, or writing is expensive, as many are mapped
// as there is room for. After mt_trace_open, the variables from here to `no_chunk_left` are changed
// under MT_LOCK_EVENTS only.
typedef struct mt_slot {
    mt_l_chunk *chunk;
    uint64_t sequence; // of the chunk: chunks are numbered when a thread begins to fill them
    bool filling;      // a thread has it; otherwise the chunk is full
    mt_thread *idle;   // the thread that filled it, if that has ended: see thread_started and take_over_idle
} mt_slot;

// Under MT_LOCK_EVENTS, except for what mt_trace_open sets once: the limits, `ring`, `events` and
// `slice_names`.
static mt_slot *slots;
static uint64_t slot_count, slot_limit;   // number of slots in use, and the limit
static uint64_t local_limit;              // number of chunks that the file next to the recording may have
static uint64_t chunks_left = UINT64_MAX; // number of chunks that may still be filled
static bool ring;                         // only the last events are kept: the oldest chunk is filled again
static bool stopped;                      // no more events are kept
static _Atomic bool no_chunk_left;        // threads without a chunk get none; read without the lock

static mt_l_eventsheader *events;
static const char *slice_names; // NULL: all slices are traced
static uint32_t last_request; // the number given to a request last, by any thread

// The largest size in bytes that a setting may have.
#define MT_MAX_EVENTS_SIZE ((uint64_t)1 << 40)

// The largest number of mapped chunks, unless only the last events are kept. A process
// can have about 65,000 mappings, and the application needs them too.
#define MT_MAX_MAPPED 4096

// Returns the text of a setting, or NULL if it has its default.
static const char *setting_text(mt_setting s)
{
    const char *text = mt_setting_text(s);
    return text && strcmp(text, mt_settings[s].default_value) != 0 ? text : NULL;
}

// Returns the value of a setting in bytes, or `default_bytes` if it has its default or is
// not valid.
static uint64_t bytes_of(mt_setting s, uint64_t default_bytes)
{
    const char *text = setting_text(s), *units = "KMGT";
    char *end = NULL;
    uint64_t n = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    const char *unit = end && *end ? strchr(units, *end) : NULL;
    uint64_t shift = unit ? 10 * (uint64_t)(unit - units + 1) : 0;
    if (n && shift && n <= MT_MAX_EVENTS_SIZE >> shift && n << shift >= MT_CHUNK_SIZE && !end[1])
        return n << shift;
    if (text) {
        mt_log("%s=%s is not a size such as 64M or 2G: the default is used", mt_settings[s].variable, text);
        mt_setting_log_rejected(s);
    }
    return default_bytes;
}

// Reports whether a comma-separated list contains a name.
static bool list_contains(const char *list, const char *name, size_t length)
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

// Reports whether the count in the current call's line has a meaning: a tag, a window,
// or the object that the call made.
static bool is_tagged(unsigned call)
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
    const char *classes = setting_text(MT_SETTING_TRACE_CLASSES);
    for (unsigned call = 0; call < MT_CALL_END; call++) {
        const char *class = class_of(call);
        if (classes && !list_contains(classes, class, strlen(class)))
            mt_record.trace_how[call] = MT_TRACE_NOT;
        else
            mt_record.trace_how[call] = is_tagged(call) ? MT_TRACE_TAGGED : MT_TRACE_PLAIN;
    }
    events->cut |= classes ? MT_CUT_CLASSES : 0;
}

static bool is_wanted(void)
{
    const char *text = mt_setting_text(MT_SETTING_TRACE);
    if (!text || list_contains("off,0,no,false", text, strlen(text)))
        return false;
    if (mt_process.header->timing == MT_TIMING_EXACT && mt_process.header->receives == MT_RECEIVES_FOLLOWED)
        return true;
    mt_log("--trace needs --timing exact and --receives on: no trace is written");
    mt_setting_log_rejected(MT_SETTING_TRACE);
    return false;
}

void mt_trace_open(void)
{
    if (!is_wanted())
        return;
    uint64_t buffer = bytes_of(MT_SETTING_TRACE_BUFFER, 64 << 20), limit = bytes_of(MT_SETTING_TRACE_LIMIT, 0);
    const char *keep = mt_setting_text(MT_SETTING_KEEP);
    ring = keep && strcmp(keep, "last") == 0;
    local_limit = (ring && limit ? limit : buffer) / MT_CHUNK_SIZE;
    slot_limit = ring ? local_limit : MT_MAX_MAPPED;
    if (limit && !ring)
        chunks_left = limit / MT_CHUNK_SIZE;
    slots = calloc(slot_limit, sizeof *slots);
    events = slots ? mt_events_open() : NULL;
    if (!events) {
        mt_log("no trace is written: there is no room for the events");
        mt_setting_log_rejected(MT_SETTING_TRACE);
        return;
    }
    slice_names = setting_text(MT_SETTING_TRACE_SLICES);
    events->cut |= slice_names ? MT_CUT_SLICES : 0;
    choose_calls();
    mt_record.trace_on = true;
    mt_flag_set(MT_FLAG_TRACE, true);
}

static bool list_contains_rank(const char *list, int rank)
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

// Called when the process has its rank. Until then it is traced. If this rank is not to
// be traced, its events are removed.
void mt_trace_rank(int rank)
{
    const char *ranks = setting_text(MT_SETTING_RANKS);
    if (!mt_record.trace_on || !ranks || list_contains_rank(ranks, rank))
        return;
    mt_flag_set(MT_FLAG_TRACE, false);
    mt_lock(MT_LOCK_EVENTS);
    stopped = true;
    mt_events_remove();
    mt_unlock(MT_LOCK_EVENTS);
}

void mt_trace_slice(const char *name)
{
    if (mt_record.trace_on && slice_names && !stopped)
        mt_flag_set(MT_FLAG_TRACE, list_contains(slice_names, name, strcspn(name, "@")));
}

// Logs that the file next to the recording has no more room, and stops writing to it.
static void log_full(const char *why)
{
    local_limit = 0;
    mt_log("the trace cannot use more than %u KiB in %s: %s; %s", (unsigned)(events->chunks * (MT_CHUNK_SIZE >> 10)),
           mt_events_in_memory() ? "memory" : mt_events_path(MT_EVENTS_LOCAL), why,
           ring ? "fewer of the last events are kept" : "further events are written to the run directory");
}

static mt_slot *map_slot(bool or_spill)
{
    const char *why;
    mt_l_chunk *c = NULL;
    if (slot_count == slot_limit)
        return NULL;
    if (events->chunks < local_limit && !(c = mt_events_map(MT_EVENTS_LOCAL, &why)))
        log_full(why);
    if (!c && or_spill && !(c = mt_events_map(MT_EVENTS_SPILL, &why)))
        mt_log("further threads are not traced: %s cannot grow: %s", mt_events_path(MT_EVENTS_SPILL), why);
    if (!c)
        return NULL;
    slots[slot_count].chunk = c;
    return &slots[slot_count++];
}

// Returns the slot with the oldest chunk, of threads that have ended (idle) or of full
// ones; NULL if there is none.
static mt_slot *oldest(bool idle)
{
    mt_slot *found = NULL;
    for (uint64_t i = 0; i < slot_count; i++)
        if ((idle ? slots[i].idle != NULL : !slots[i].filling) && (!found || slots[i].sequence < found->sequence))
            found = &slots[i];
    return found;
}

// Returns the slot of the oldest chunk of a thread that has ended, for a thread that
// has none.
static mt_slot *take_over_idle(void)
{
    mt_slot *s = oldest(true);
    if (s) {
        s->idle->chunk = &mt_record.trace_full;
        s->idle = NULL;
    }
    return s;
}

// Writes a full chunk to the file next to the recording, or to the run directory if
// that file has no more room. Returns false if neither has room.
static bool write_chunk(const mt_slot *s)
{
    const char *why;
    if (events->chunks < local_limit) {
        if (mt_events_write(MT_EVENTS_LOCAL, s->chunk, &why))
            return true;
        log_full(why);
    }
    if (mt_events_write(MT_EVENTS_SPILL, s->chunk, &why))
        return true;
    mt_log("the trace cannot be continued in %s: %s; further events are counted, but not kept",
           mt_events_path(MT_EVENTS_SPILL), why);
    return false;
}

// Returns a slot with an empty chunk: a new one, or one whose chunk was written to a
// file or is given up. Returns NULL if there is no room.
static mt_slot *next_slot(void)
{
    if (stopped || chunks_left == 0)
        return NULL;
    mt_slot *s = ring || !mt_events_in_memory() ? map_slot(false) : NULL;
    if (!s && ((s = oldest(false)) || (ring && (s = take_over_idle())))) {
        if (ring) {
            events->cut |= MT_CUT_RING;
            mt_count_lost(&events->dropped, s->chunk->count);
        } else if (!write_chunk(s)) {
            stopped = true;
            return NULL;
        }
    }
    if (!s && !ring)
        s = map_slot(true);
    if (s)
        __atomic_store_n(&s->chunk->count, 0, __ATOMIC_RELEASE); // before anything else in the chunk
    return s;
}

// Returns the slot of a thread's chunk, or NULL if it has none.
static mt_slot *slot_of(const mt_thread *t)
{
    for (uint64_t i = 0; i < slot_count && t->chunk != &mt_record.trace_full; i++)
        if (slots[i].chunk == t->chunk)
            return &slots[i];
    return NULL;
}

static void release_chunk(const mt_thread *t)
{
    mt_slot *s = slot_of(t);
    if (s)
        s->filling = false;
}

// If only the last events are kept, threads that got no chunk ask again when a thread
// ends, because they may take over its chunk.
static void thread_ended(mt_thread *t)
{
    if (!mt_record.trace_on)
        return;
    mt_lock(MT_LOCK_EVENTS);
    mt_slot *s = slot_of(t);
    if (s)
        s->idle = t;
    if (s && ring)
        atomic_store(&no_chunk_left, false);
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
    if (t->chunk == &mt_record.trace_full && atomic_load_explicit(&no_chunk_left, memory_order_relaxed)) {
        mt_count_lost(&events->dropped, 1);
        return NULL;
    }
    int saved = errno;
    mt_lock(MT_LOCK_EVENTS);
    release_chunk(t);
    mt_slot *s = next_slot();
    t->chunk = s ? s->chunk : &mt_record.trace_full;
    if (s) {
        chunks_left -= chunks_left != UINT64_MAX;
        s->filling = true;
        s->sequence = ++sequence;
        *s->chunk = (mt_l_chunk){.magic = MT_CHUNK_MAGIC, .thread = t->index, .sequence = sequence};
    } else {
        events->cut |= chunks_left == 0 ? MT_CUT_LIMIT : MT_CUT_NO_ROOM;
        mt_count_lost(&events->dropped, 1);
        atomic_store(&no_chunk_left, true);
    }
    mt_unlock(MT_LOCK_EVENTS);
    errno = saved;
    return s ? s->chunk : NULL;
}

uint32_t mt_trace_number(mt_thread *t)
{
    t->request_number = mt_process.multiple ? __atomic_add_fetch(&last_request, 1, __ATOMIC_RELAXED) : ++last_request;
    return t->request_number;
}

// Returns when the thread's latest call returned. In a pause that is not known, and it
// returns the present time.
static uint64_t last_return(const mt_thread *t)
{
    return mt_flags() & MT_FLAG_PAUSED ? mt_ticks() : t->open->last;
}

void mt_trace_completed(uint32_t request)
{
    mt_thread *t = mt_self;
    if (t && request && mt_traced())
        mt_trace_event(t, MT_EVENT_COMPLETED, last_return(t), 0, 0, MT_EVENT_NO_TAG, request);
}

void mt_trace_message(mt_thread *t, const mt_row *row, mt_key k, uint64_t bytes, int32_t tag, uint32_t request)
{
    if (mt_record.trace_how[(uint16_t)(k.what >> 32)] != MT_TRACE_NOT)
        mt_trace_event(t, mt_trace_row(t, row), last_return(t), 0, bytes, tag, request);
}

uint64_t mt_trace_clamped(uint64_t value)
{
    uint64_t largest = ((uint64_t)1 << 48) - 1;
    return (int64_t)value < 0 ? 0 : value > largest ? largest : value;
}

// The slow side of the fact table: rows met for the first time, tables that
// have to grow, and what happens when they cannot.
#include "record.h"

#include "modules.h"
#include "open.h"
#include "recording.h"
#include "sample.h"
#include "thread.h"
#include "trace.h"

// The row of a key, from `row` on, or the empty one where it belongs.
MT_INLINE mt_row *probe_from(const mt_thread *t, mt_row *row, uint64_t site, uint64_t place, uint64_t what)
{
    mt_row *last = (mt_row *)((char *)t->rows + t->mask);
    while (row->what != 0 && !mt_row_is(row, site, place, what))
        row = row == last ? t->rows : row + 1;
    return row;
}

static mt_row *probe(const mt_thread *t, mt_key k)
{
    return probe_from(t, mt_row_home(t, k), k.site, k.place, k.what);
}

static uint64_t capacity_of(const mt_thread *t)
{
    return t->mask / sizeof(mt_row) + 1;
}

static void adopt(mt_thread *t, mt_segment table)
{
    uint64_t capacity = table.segment->rows;
    __atomic_store_n(&t->rows, (mt_row *)(table.segment + 1), __ATOMIC_RELEASE); // others may be adding up
    t->mask = (capacity - 1) * sizeof(mt_row);
    t->limit = capacity / 2;
    t->rows_at = (uint32_t)(table.offset / sizeof(mt_row) + 1);
    // From here on a reader counts this table and no other of the thread.
    __atomic_store_n(&t->record->table, table.offset, __ATOMIC_RELEASE);
}

bool mt_table_open(mt_thread *t)
{
    mt_segment table = mt_segment_table(MT_MIN_TABLE_ROWS);
    if (!table.segment)
        return false;
    adopt(t, table);
    return true;
}

// By words: somebody may still read this memory as the table that it was.
static void move_row(mt_row *to, const mt_row *from)
{
    mt_write(&to->site, from->site);
    mt_write(&to->place, from->place);
    mt_write(&to->count, from->count);
    mt_write(&to->bytes, from->bytes);
    mt_write(&to->time, from->time);
    mt_write(&to->min, from->min);
    mt_write(&to->max, from->max);
    mt_write(&to->what, from->what);
}

// The rows move to a table twice as large. Until its offset is stored in the
// thread's record a reader sees the old one, complete; after that the new one.
static bool grow(mt_thread *t)
{
    uint64_t n = capacity_of(t), capacity = 2 * n;
    mt_segment table = {NULL, 0};
    if (!t->full && capacity <= MT_ROW_LIMIT)
        table = mt_segment_table(capacity);
    else if (!t->full)
        mt_recording_full("a thread has as many rows as it can have");
    if (!table.segment) {
        t->full = true;
        return false;
    }
    mt_row *old = t->rows;
    mt_thread wider = {.rows = (mt_row *)(table.segment + 1), .mask = (capacity - 1) * sizeof(mt_row)};
    for (uint64_t i = 0; i < n; i++) {
        if (old[i].what == 0)
            continue;
        mt_row *row = probe(&wider, (mt_key){old[i].site, old[i].place, old[i].what});
        move_row(row, &old[i]);
        if (t->paces)
            *mt_sample_of(&wider, row) = *mt_sample_of(t, &old[i]);
    }
    mt_l_segment *before = (mt_l_segment *)old - 1;
    adopt(t, table);
    if (!mt_trace_on) // else there are events that name its rows
        mt_segment_release(before);
    return true;
}

static mt_row *insert(mt_thread *t, mt_row *row, mt_key k)
{
    t->used++;
    mt_write(&row->site, k.site);
    mt_write(&row->place, k.place);
    mt_write(&row->min, UINT64_MAX);
    __atomic_store_n(&row->what, k.what, __ATOMIC_RELEASE);
    return row;
}

// Rows without end (a new call site, peer or size with each call) are folded,
// in bounded memory: totals by call, direction and communicator stay exact.
static mt_row *fold(mt_thread *t, mt_key k)
{
    mt_lost(&mt_header->folded_calls, 1);
    k.site = 0;
    k.place = (uint32_t)k.place | (uint64_t)(uint32_t)MT_PEER_LOST << 32;
    k.what &= 0x00ffffff00000000u; // call and direction
    mt_row *row = probe(t, k);
    if (row->what)
        return row;
    // The communicator is kept while there is room: a collective's volume is
    // its row's times the number of receivers.
    if (t->used < capacity_of(t) - capacity_of(t) / 16)
        return insert(t, row, k);
    k.place |= MT_COMM_NONE;
    row = probe(t, k);
    if (row->what)
        return row;
    if (t->used < capacity_of(t) - 1)
        return insert(t, row, k);
    mt_lost(&mt_header->lost_calls, 1);
    return &t->spare;
}

// The clocks at the latest new row, for readers of a process that was killed.
// An odd number of writes says that it died in the middle of one.
static void note_clock(void)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        return; // another thread is at it
    __atomic_store_n(&mt_header->last_writes, mt_header->last_writes + 1, __ATOMIC_RELEASE);
    mt_header->last = mt_clock_all();
    __atomic_store_n(&mt_header->last_writes, mt_header->last_writes + 1, __ATOMIC_RELEASE);
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

static MT_SLOW mt_row *make(mt_thread *t, mt_key k, mt_row *row)
{
    if (t->used >= t->limit) {
        if (!grow(t))
            return fold(t, k);
        row = probe(t, k);
    }
    mt_modules_meet(k.site);
    note_clock();
    return insert(t, row, k);
}

mt_row *mt_row_find(mt_thread *t, mt_row *home, uint64_t site, uint64_t place, uint64_t what)
{
    mt_row *row = probe_from(t, home, site, place, what);
    return mt_likely(row->what != 0) ? row : make(t, (mt_key){site, place, what}, row);
}

void mt_close(mt_span *s)
{
    s->ticks = s->timed || MT_CHECKING ? mt_spend(s->thread->open, mt_ticks(), s->start) : 0;
}

void mt_book(mt_span *s, mt_key k, uint64_t bytes)
{
    mt_row *row = mt_row_of(s->thread, k);
    mt_add(&row->bytes, bytes);
    if (s->timed && !s->thread->paces)
        mt_row_time(row, s->ticks);
    mt_add(&row->count, 1);
    if (mt_unlikely(s->thread->paces != NULL))
        mt_sample_book(s->thread, mt_sample_pace(s->thread, s->site), row, s->timed, s->ticks);
    if (mt_unlikely(mt_traced()))
        mt_trace_call(s->thread, row, s->call, s->ticks, bytes);
    mt_open_end(s);
}

void mt_book_bare(mt_span *s)
{
    mt_close(s);
    mt_book(s, mt_span_key(s, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0), 0);
}

void mt_row_longest(mt_row *row, uint64_t ticks)
{
    if ((int64_t)ticks >= 0) {
        mt_write(&row->max, ticks);
        return;
    }
    mt_add(&row->time, -ticks);
    mt_lost(&mt_header->negative_ticks, 1);
}

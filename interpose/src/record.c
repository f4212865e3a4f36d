// The slow side of the fact table: rows met for the first time, tables that
// have to grow, and what happens when they cannot.
#include "record.h"

#include "modules.h"
#include "recording.h"
#include "thread.h"

// Rows of one thread; at 64 bytes each, 64 MiB.
#define MT_ROW_LIMIT (1u << 20)

static bool same(mt_row *row, mt_key k)
{
    return mt_load(&row->what) == k.what && mt_load(&row->place) == k.place && mt_load(&row->site) == k.site;
}

// The row of k, or the empty one where it belongs.
static mt_row *probe(mt_thread *t, mt_key k)
{
    uint64_t i = mt_hash(k) >> t->shift;
    while (mt_load(&t->rows[i].what) != 0 && !same(&t->rows[i], k))
        i = (i + 1) & t->mask;
    return &t->rows[i];
}

static void adopt(mt_thread *t, mt_segment table)
{
    uint64_t capacity = table.segment->rows;
    t->rows = (mt_row *)(table.segment + 1);
    t->mask = capacity - 1;
    t->shift = 64 - (uint32_t)__builtin_ctzll(capacity);
    t->limit = capacity - capacity / 4;
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

// The rows move to a table twice as large. Until its offset is stored in the
// thread's record a reader sees the old one, complete; after that the new one.
static bool grow(mt_thread *t)
{
    uint64_t capacity = (t->mask + 1) * 2;
    if (t->full || capacity > MT_ROW_LIMIT)
        return false;
    mt_segment table = mt_segment_table(capacity);
    if (!table.segment) {
        t->full = true;
        mt_say("no room for more rows (rank %d): further ones are folded together", mt_world_rank);
        return false;
    }
    mt_row *old = t->rows;
    uint64_t n = t->mask + 1;
    mt_thread wider = {.rows = (mt_row *)(table.segment + 1), .mask = capacity - 1,
                       .shift = 64 - (uint32_t)__builtin_ctzll(capacity)};
    for (uint64_t i = 0; i < n; i++) {
        mt_key k = {mt_load(&old[i].site), mt_load(&old[i].place), mt_load(&old[i].what)};
        if (k.what)
            *probe(&wider, k) = old[i];
    }
    mt_l_segment *before = (mt_l_segment *)old - 1;
    adopt(t, table);
    mt_segment_release(before);
    return true;
}

static mt_row *insert(mt_thread *t, mt_row *row, mt_key k)
{
    t->used++;
    mt_store(&row->site, k.site);
    mt_store(&row->place, k.place);
    mt_store(&row->min, UINT64_MAX);
    atomic_store_explicit(&row->what, k.what, memory_order_release);
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
    if (mt_load(&row->what))
        return row;
    // The communicator is kept while there is room: a collective's volume is
    // its row's times the number of receivers.
    if (t->used < t->mask - t->mask / 16)
        return insert(t, row, k);
    k.place |= MT_COMM_NONE;
    row = probe(t, k);
    if (mt_load(&row->what))
        return row;
    if (t->used < t->mask)
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

mt_row *mt_row_find(mt_thread *t, mt_key k)
{
    mt_row *row = probe(t, k);
    if (mt_load(&row->what))
        return row;
    if (t->used >= t->limit) {
        if (!grow(t))
            return fold(t, k);
        row = probe(t, k);
    }
    mt_modules_meet(k.site);
    note_clock();
    return insert(t, row, k);
}

void mt_clock_ran_back(void)
{
    mt_lost(&mt_header->negative_ticks, 1);
}

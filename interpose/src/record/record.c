// The slow paths of the fact table: new rows, tables that have to grow, and calls for
// which there is no room.
#include "record/record.h"

#include "base/lock.h"
#include "file/recording.h"
#include "record/current_call.h"
#include "record/modules.h"
#include "record/sample.h"
#include "record/thread.h"
#include "record/trace.h"

#include <stdlib.h>

// Returns the row of a key, searching from `row` on, or the empty row where it belongs.
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

static void use_table(mt_thread *t, mt_segment table)
{
    uint64_t capacity = table.segment->rows;
    __atomic_store_n(&t->rows, (mt_row *)(table.segment + 1), __ATOMIC_RELEASE); // others may be adding up rows
    t->mask = (capacity - 1) * sizeof(mt_row);
    t->limit = capacity / 2;
    t->rows_at = (uint32_t)(table.offset / sizeof(mt_row) + 1);
    // From here on readers use this table of the thread and no other.
    __atomic_store_n(&t->record->table, table.offset, __ATOMIC_RELEASE);
}

static mt_segment new_table(uint64_t rows)
{
    return mt_segment_table(rows, mt_sample_table_size(rows));
}

// Makes the first table of a thread, and chooses how its calls are booked.
static bool open_table(mt_thread *t)
{
    if (mt_process.header->timing == MT_TIMING_SAMPLED && !(t->paces = calloc(MT_PACES, sizeof *t->paces)))
        return false;
    t->chunk = &mt_record.trace_full;
    t->extended = t->paces || mt_record.trace_on;
    mt_segment table = new_table(MT_MIN_TABLE_ROWS);
    if (table.segment)
        use_table(t, table);
    else
        free(t->paces);
    return table.segment != NULL;
}

MT_REGISTER(thread_made, open_table);

// A former table of a thread, whose rows events refer to.
typedef struct mt_outgrown {
    struct mt_outgrown *next;
    mt_row *rows;
    uint64_t capacity;
} mt_outgrown;

// Copies a row word by word, because another thread may still be reading this memory as
// the table that it was.
static void copy_row(mt_row *to, const mt_row *from)
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

// Adds a row to another with the same key. There are two such rows if a file was
// unloaded several times.
static void add_row(mt_row *to, const mt_row *from)
{
    mt_add(&to->count, from->count);
    mt_add(&to->bytes, from->bytes);
    mt_add(&to->time, from->time);
    mt_write(&to->min, from->min < to->min ? from->min : to->min);
    mt_write(&to->max, from->max > to->max ? from->max : to->max);
}

// Returns an empty row for a key. With samples, two rows of the same key are not added
// up, because estimates are made from each row's own samples.
static mt_row *free_row(const mt_thread *t, mt_key k)
{
    mt_row *row = mt_row_home(t, k), *last = (mt_row *)((char *)t->rows + t->mask);
    while (row->what != 0)
        row = row == last ? t->rows : row + 1;
    return row;
}

// Copies all rows of `t` to an empty table. Returns the number of rows that it then
// has.
static uint64_t copy_rows(const mt_thread *to, const mt_thread *t)
{
    uint64_t used = 0;
    for (uint64_t i = 0; i < capacity_of(t); i++) {
        const mt_row *from = &t->rows[i];
        mt_key k = {from->site, from->place, from->what};
        if (k.what == 0)
            continue;
        mt_row *row = t->paces ? free_row(to, k) : probe(to, k);
        if (row->what != 0) {
            add_row(row, from);
            continue;
        }
        used++;
        copy_row(row, from);
        if (t->paces)
            *mt_sample_of(to, row) = *mt_sample_of(t, from);
    }
    return used;
}

// Keeps the table of a thread as it is, because events refer to its rows by their
// position.
static bool keep_outgrown(mt_thread *t)
{
    mt_outgrown *o = malloc(sizeof *o);
    if (!o)
        return false;
    *o = (mt_outgrown){t->outgrown, t->rows, capacity_of(t)};
    t->outgrown = o;
    return true;
}

// Copies all rows to another table, which is used from now on.
static bool move_to_table(mt_thread *t, mt_segment table)
{
    mt_l_segment *before = (mt_l_segment *)t->rows - 1;
    mt_thread wider = {.rows = (mt_row *)(table.segment + 1), .mask = (table.segment->rows - 1) * sizeof(mt_row)};
    mt_lock(MT_LOCK_ROWS);
    bool kept = !mt_record.trace_on || keep_outgrown(t);
    if (kept) {
        t->used = copy_rows(&wider, t);
        mt_write(&t->moved, 0);
        use_table(t, table);
    }
    mt_unlock(MT_LOCK_ROWS);
    if (kept && !mt_record.trace_on)
        mt_segment_release(before);
    return kept;
}

// Moves the rows to a table of twice the size. If more than half of the rows have had
// their sites moved, the new table has the same size, because rows with the same key
// are added up. Until the offset of the new table is stored in the thread's record,
// readers see the old table, complete; after that they see the new one.
static bool grow(mt_thread *t)
{
    bool folds = mt_read(&t->moved) > t->used / 2 && !t->paces;
    uint64_t capacity = capacity_of(t) * (folds ? 1 : 2);
    mt_segment table = {NULL, 0};
    if (!t->full && capacity <= MT_ROW_LIMIT)
        table = new_table(capacity);
    else if (!t->full)
        mt_recording_full("a thread has the maximum number of rows");
    if (!table.segment || !move_to_table(t, table)) {
        t->full = true;
        return false;
    }
    return true;
}

// Moves the sites of rows. Returns how many rows had a site that moved.
static uint64_t move_sites(const mt_move *move, mt_row *rows, uint64_t capacity)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < capacity; i++)
        n += rows[i].what != 0 && mt_move_site(move, &rows[i].site);
    return n;
}

// Moves the sites of a thread's rows. Such a row stays in its slot. It is not found any
// more, as no call comes from its new address, and readers add up all rows.
static void move_rows_of(void *argument, mt_thread *t)
{
    const mt_move *move = argument;
    mt_lock(MT_LOCK_ROWS);
    mt_write(&t->moved, t->moved + move_sites(move, t->rows, capacity_of(t)));
    for (mt_outgrown *o = t->outgrown; o; o = o->next)
        move_sites(move, o->rows, o->capacity);
    mt_unlock(MT_LOCK_ROWS);
}

static void move_rows(const mt_move *move)
{
    mt_thread_each(move_rows_of, (void *)(uintptr_t)move);
}

MT_REGISTER(sites_move, move_rows);

static mt_row *insert(mt_thread *t, mt_row *row, mt_key k)
{
    t->used++;
    mt_write(&row->site, k.site);
    mt_write(&row->place, k.place);
    mt_write(&row->min, UINT64_MAX);
    __atomic_store_n(&row->what, k.what, __ATOMIC_RELEASE);
    return row;
}

// Returns a row for a call that has no room for one of its own. A program that needs
// new rows without end (a new call site, peer or size with each call) is recorded in
// bounded memory. Totals by call, direction and communicator stay exact while there is
// room for these rows.
static mt_row *overflow_row(mt_thread *t, mt_key k)
{
    mt_count_lost(&mt_process.header->folded_calls, 1);
    k.site = 0;
    k.place = (uint32_t)k.place | (uint64_t)(uint32_t)MT_PEER_LOST << 32;
    k.what &= 0x00ffffff00000000u; // call and direction
    mt_row *row = probe(t, k);
    if (row->what)
        return row;
    // Keep the communicator while there is room, because the volume of a collective is
    // that of its row times the number of receivers.
    if (t->used < capacity_of(t) - capacity_of(t) / 16)
        return insert(t, row, k);
    k.place |= MT_COMM_NONE;
    row = probe(t, k);
    if (row->what)
        return row;
    if (t->used < capacity_of(t) - 1)
        return insert(t, row, k);
    mt_count_lost(&mt_process.header->lost_calls, 1);
    return &t->spare;
}

// Stores the clocks at the latest new row, for readers of a process that was killed. An
// odd number of writes shows that the process died during a write.
static void save_clock(void)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
        return; // another thread is storing them
    __atomic_store_n(&mt_process.header->last_writes, mt_process.header->last_writes + 1, __ATOMIC_RELEASE);
    mt_process.header->last = mt_clock_read_all();
    __atomic_store_n(&mt_process.header->last_writes, mt_process.header->last_writes + 1, __ATOMIC_RELEASE);
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

static MT_SLOW mt_row *make_row(mt_thread *t, mt_key k, mt_row *row)
{
    if (t->used >= t->limit) {
        if (!grow(t))
            return overflow_row(t, k);
        row = probe(t, k);
    }
    mt_modules_add_site(k.site);
    save_clock();
    return insert(t, row, k);
}

mt_row *mt_row_find(mt_thread *t, mt_row *home, uint64_t site, uint64_t place, uint64_t what)
{
    mt_row *row = probe_from(t, home, site, place, what);
    return mt_likely(row->what != 0) ? row : make_row(t, (mt_key){site, place, what}, row);
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
    mt_current_call_end(s);
}

static mt_row *left_row(mt_thread *t, const mt_current_call *line)
{
    return mt_row_of(t, mt_key_of(line->site, line->slice, line->call, MT_DIR_LEFT, line->comm, line->peer, 0));
}

MT_REGISTER(left_row, left_row);

void mt_book_bare(mt_span *s)
{
    mt_close(s);
    mt_book(s, mt_span_key(s, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0), 0);
}

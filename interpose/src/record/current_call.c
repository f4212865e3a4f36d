#include "record/current_call.h"

#include "record/record.h"

#include <string.h>

// Reports whether the call at frame `outer` is around one at `frame`. Then the frames
// of the MPI and of the function that it called are between them on the stack. Calls by
// the same function differ only by the arguments that they pass on the stack, at most
// MT_ARGUMENTS bytes.
static bool is_around(uint64_t outer, uint64_t frame)
{
    enum { MT_ARGUMENTS = 128 };
    return outer > frame + MT_ARGUMENTS;
}

static void set_line(mt_current_call *o, const mt_current_call *line)
{
    mt_write(&o->site, line->site);
    mt_write(&o->place, line->place);
    mt_write(&o->start, line->start);
    mt_write(&o->bytes, line->bytes);
    o->source = line->source;
    o->count = line->count;
    __atomic_store_n(&o->what, line->what, __ATOMIC_RELEASE);
}

void mt_current_call_begin(const mt_span *s)
{
    mt_thread *t = s->thread;
    mt_current_call *o = t->open;
    mt_key k = mt_key_of(s->site, s->slice, s->call, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0);
    if (mt_unlikely(o->call != 0))
        mt_current_call_save(t, s->frame);
    t->frame = s->frame;
    mt_write(&o->site, k.site);
    mt_write(&o->place, k.place);
    mt_write(&o->bytes, 0);
    mt_write(&o->start, s->timed ? s->start : 0);
    __atomic_store_n(&o->what, k.what, __ATOMIC_RELEASE);
}

// Counts a saved call as left, once.
static void count_left(mt_thread *t, mt_outer *outer)
{
    if (!outer->left)
        mt_add(&MT_CALL_HOOK(left_row, t, &outer->line)->count, 1);
    outer->left = true;
}

// Returns a place for a line: a free one, else that of a call that was left, else any.
static mt_outer *place_for(mt_thread *t)
{
    mt_outer *place = &t->outer[0];
    for (int i = MT_OUTER_CALLS - 1; i >= 0; i--)
        if (t->outer[i].left)
            place = &t->outer[i];
    for (int i = 0; i < MT_OUTER_CALLS; i++)
        if (!t->outer[i].frame)
            return &t->outer[i];
    return place;
}

static mt_outer *outer_of(mt_thread *t, uint64_t frame)
{
    for (int i = 0; i < MT_OUTER_CALLS; i++)
        if (t->outer[i].frame == frame)
            return &t->outer[i];
    return NULL;
}

// If a call with the same frame is saved, it was left; its place is reused. Calls that are
// not around `frame` count as left too. A call on another stack may still return; it is then
// uncounted.
void mt_current_call_save(mt_thread *t, uint64_t frame)
{
    mt_outer *place = outer_of(t, t->frame);
    if (!place)
        place = place_for(t);
    if (place->frame)
        count_left(t, place);
    else
        t->outers++;
    *place = (mt_outer){.frame = t->frame, .line = *t->open};
    for (int i = 0; i < MT_OUTER_CALLS; i++)
        if (t->outer[i].frame && !is_around(t->outer[i].frame, frame))
            count_left(t, &t->outer[i]);
}

// Uncounts a returning call whose saved line was overwritten. Only its function is known, so
// any row of that function is decreased.
static void uncount_overwritten(mt_thread *t, unsigned call)
{
    uint64_t rows = t->mask / sizeof *t->rows + 1;
    mt_key left = mt_key_of(0, 0, call, MT_DIR_LEFT, 0, 0, 0);
    for (uint64_t i = 0; i < rows; i++)
        if ((t->rows[i].what ^ left.what) >> 32 == 0 && t->rows[i].count) {
            mt_add(&t->rows[i].count, (uint64_t)-1);
            return;
        }
}

static void drop(mt_thread *t, mt_outer *outer)
{
    outer->frame = 0;
    t->outers--;
}

// Drops the saved line of a call that returns.
static void drop_returned(mt_thread *t, mt_outer *outer)
{
    mt_row *row = outer->left ? MT_CALL_HOOK(left_row, t, &outer->line) : NULL;
    if (row && row->count)
        mt_add(&row->count, (uint64_t)-1);
    outer->left = false;
    drop(t, outer);
}

void mt_current_call_restore(mt_thread *t, unsigned call, uint64_t frame)
{
    mt_outer *place = outer_of(t, frame), own = {0};
    if (place) {
        own = *place;
        drop_returned(t, place);
    }
    if (own.frame) {
        if (t->open->call != 0)
            mt_current_call_save(t, frame);
        t->frame = frame;
        set_line(t->open, &own.line);
        return;
    }
    // Its saved line was overwritten. The call is counted, but what it moved and how
    // long it took are not known.
    uncount_overwritten(t, call);
    mt_count_lost(&mt_process.header->folded_calls, 1);
    mt_span s = {.thread = t, .frame = frame, .call = (uint16_t)call};
    s.timed = mt_process.header->timing != MT_TIMING_OFF;
    s.slice = atomic_load_explicit(&mt_process.hot.slice, memory_order_relaxed);
    s.start = mt_ticks() - t->open->spent;
    mt_write(&t->open->bytes, 0);
    t->open->source = MT_PEER_NONE;
    mt_current_call_begin(&s);
}

void mt_current_call_reopen(mt_thread *t, uint64_t frame, const mt_current_call *line)
{
    mt_outer *saved = outer_of(t, frame);
    if (saved)
        drop_returned(t, saved);
    else
        uncount_overwritten(t, line->call);
    if (t->open->call != 0)
        mt_current_call_save(t, frame);
    t->frame = frame;
    set_line(t->open, line);
}

// Returns the innermost call that encloses the one at `frame` and has not returned; NULL if
// there is none.
static mt_outer *innermost(mt_thread *t, uint64_t frame)
{
    mt_outer *found = NULL;
    for (int i = 0; i < MT_OUTER_CALLS; i++) {
        mt_outer *outer = &t->outer[i];
        if (!outer->left && is_around(outer->frame, frame) && (!found || outer->frame < found->frame))
            found = outer;
    }
    return found;
}

void mt_current_call_leave(const mt_span *s)
{
    mt_thread *t = s->thread;
    uint64_t frame = s->frame;
    if (t->frame != frame) {
        mt_outer *own = outer_of(t, frame);
        if (own)
            drop_returned(t, own);
        else
            uncount_overwritten(t, s->call);
        if (t->open->call != 0)
            mt_current_call_save(t, frame);
    }
    mt_current_call_clear(t->open);
    mt_outer *around = innermost(t, frame);
    if (!around)
        return;
    t->frame = around->frame;
    set_line(t->open, &around->line);
    drop(t, around);
}

void mt_current_call_forget(mt_thread *t, mt_thread *own)
{
    for (int i = 0; i < MT_OUTER_CALLS; i++)
        if (t->outer[i].frame)
            count_left(own, &t->outer[i]);
    if (t->open->call != 0)
        mt_add(&MT_CALL_HOOK(left_row, own, t->open)->count, 1);
    mt_current_call_clear(t->open);
    memset(t->outer, 0, sizeof t->outer);
    t->outers = 0;
    t->frame = 0;
}

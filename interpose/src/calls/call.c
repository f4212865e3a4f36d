// Opening calls that are not on a short path, and recording them.
#include "calls/call.h"

#include "record/slice.h"
#include "record/stack.h"
#include "calls/policy.h"

// Finds the call site. A call from a file of Fortran bindings is either the program's, made
// where the program called the binding, or the Fortran layer's own. Returns false for the
// latter, which is not recorded.
static bool find_site(mt_span *s)
{
    if (mt_lies_in(&mt_calls.fortran_bindings, s->site) && !mt_fortran_take(s->call, &s->site) &&
        mt_lies_in(&mt_calls.fortran_layer, s->site))
        return false;
    if (mt_record.stacks_on)
        s->site = mt_stack_site(s->site);
    return true;
}

static MT_NOINLINE void look_at_time(uint32_t flags)
{
    if (flags & MT_FLAG_PVARS) // first: the values so far belong to the slice that may end now
        MT_CALL_HOOK(time_to_read);
    if (flags & MT_FLAG_INTERVAL)
        mt_slice_check_interval();
}

mt_span mt_enter_from(unsigned call, uint64_t site, uint64_t frame)
{
    mt_span s;
    s.site = site;
    s.frame = frame;
    s.call = (uint16_t)call;
    s.timed = false;
    s.slice = MT_PAUSED;
    s.thread = mt_likely(mt_self != NULL) ? mt_self : MT_CALL_HOOK(thread_wanted, site);
    uint32_t flags = mt_flags(); // read here: the first call of the process may have changed them
    if ((flags & MT_FLAG_SITES) && !find_site(&s))
        s.thread = NULL;
    if (flags & (MT_FLAG_CLOSED | MT_FLAG_PAUSED)) {
        s.thread = NULL;
        MT_CALL_HOOK(unrecorded_call, site);
    }
    if (!s.thread)
        return s;
    if (flags & (MT_FLAG_INTERVAL | MT_FLAG_PVARS))
        look_at_time(flags);
    s.slice = atomic_load_explicit(&mt_process.hot.slice, memory_order_relaxed);
    s.timed = !(flags & MT_FLAG_UNTIMED);
    if (flags & MT_FLAG_SAMPLED)
        s.timed = mt_sample_is_due(mt_sample_pace(s.thread, s.site));
    if (s.timed || MT_CHECKING)
        s.start = mt_ticks() - s.thread->open->spent;
    mt_current_call_begin(&s);
    return s;
}

void mt_call_resume(mt_call *c)
{
    mt_span *s = &c->span;
    mt_thread *t = s->thread;
    if (c->pending & MT_PENDING_SPAN) {
        if (mt_unlikely(t->frame != s->frame))
            mt_current_call_reopen(t, s->frame, &c->line);
        return;
    }
    if (mt_unlikely(t->frame != s->frame))
        mt_current_call_restore(t, s->call, s->frame);
    const mt_current_call *o = t->open;
    s->site = o->site;
    s->slice = o->slice;
    s->start = o->start;
    s->timed = o->start != 0;
}

void mt_call_look_up(mt_call *c)
{
    mt_thread *t = c->span.thread;
    mt_current_call *o = t->open;
    if (c->pending & MT_PENDING_COMM)
        o->comm = mt_comm_index(t, c->comm);
    if (c->pending & MT_PENDING_BYTES)
        o->bytes = mt_data_bytes(t, c->count, c->type);
    if (c->pending & MT_PENDING_WIN) {
        const mt_win_cached *w = mt_win_of(t, c->win);
        o->comm = w->comm->index;
        o->count = mt_win_tag(w->number, c->lock);
    }
}

// Records the call as its line describes it. `moves` says whether it may have data.
MT_INLINE int end_line(mt_call *c, int rc, bool moves)
{
    mt_span *s = &c->span;
    if (!s->thread)
        return rc;
    mt_call_resume(c);
    if (rc != MPI_SUCCESS) {
        mt_book_bare(s);
        return rc;
    }
    mt_close(s);
    if (c->pending & MT_PENDING_VOLUME) {
        mt_volume_book(s, c->comm, &c->volume);
        return rc;
    }
    mt_call_look_up(c);
    const mt_current_call *o = s->thread->open;
    uint64_t bytes = moves ? o->bytes : 0;
    mt_book(s, mt_key_of(s->site, s->slice, s->call, o->direction, o->comm, o->peer, mt_size_class(bytes)), bytes);
    return rc;
}

int mt_end(mt_call *c, int rc)
{
    return end_line(c, rc, true);
}

int mt_end_empty(mt_call *c, int rc)
{
    return end_line(c, rc, false);
}

int mt_end_unusual(mt_thread *t, unsigned call, uint64_t frame, int rc)
{
    mt_call c = {.span = {.thread = t, .call = (uint16_t)call, .frame = frame}};
    return mt_end(&c, rc);
}

int mt_path_book_longest(mt_thread *t, mt_row *row, uint64_t ticks)
{
    mt_row_longest(row, ticks);
    mt_add(&row->count, 1);
    mt_current_call_clear(t->open);
    return MPI_SUCCESS;
}

int mt_path_book_extended(mt_thread *t, mt_row *row, uint64_t bytes, uint64_t ticks)
{
    mt_current_call *o = t->open;
    bool timed = o->start != 0;
    mt_add(&row->bytes, bytes);
    if (timed && !t->paces)
        mt_row_time(row, ticks);
    mt_add(&row->count, 1);
    if (mt_unlikely(t->paces != NULL))
        mt_sample_book(t, mt_sample_pace(t, o->site), row, timed, ticks);
    if (mt_traced())
        mt_trace_call(t, row, o->call, ticks, bytes);
    mt_current_call_clear(o);
    return MPI_SUCCESS;
}

// All other cases go to mt_path_book_extended, so that no value has to be kept for a
// function that returns here.
int mt_path_book_traced(mt_thread *t, mt_row *row, uint64_t bytes, uint64_t ticks)
{
    mt_current_call *o = t->open;
    mt_l_chunk *chunk = t->chunk;
    uint64_t events = chunk->count;
    unsigned how = mt_record.trace_how[o->call];
    if (mt_unlikely(t->paces || !o->start || ticks > row->max || events >= MT_CHUNK_EVENTS || (ticks | bytes) >> 48) ||
        mt_unlikely(how == MT_TRACE_NOT || !mt_traced()))
        return mt_path_book_extended(t, row, bytes, ticks);
    mt_add(&row->bytes, bytes);
    mt_add(&row->time, ticks);
    if (mt_unlikely(ticks < row->min))
        mt_write(&row->min, ticks);
    mt_add(&row->count, 1);
    uint32_t request = t->request_number;
    t->request_number = 0;
    uint64_t offset = (uint64_t)((const char *)row - (const char *)t->rows); // the spare row is never in its home slot
    mt_trace_write(chunk, events, t->rows_at + (uint32_t)(offset / sizeof *row), o->last - ticks, ticks, bytes,
                   how == MT_TRACE_TAGGED ? (int32_t)o->count : MT_EVENT_NO_TAG, request);
    mt_current_call_clear(o);
    return MPI_SUCCESS;
}

int mt_path_book_elsewhere(mt_thread *t, uint64_t site, uint64_t place, uint64_t what, uint64_t bytes, uint64_t ticks)
{
    return mt_path_book_extended(t, mt_row_of(t, (mt_key){site, place, what}), bytes, ticks);
}

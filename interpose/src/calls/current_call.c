#include "calls/current_call.h"

#include "objects/types.h"
#include "objects/win.h"
#include "calls/leave.h"

// Whether a call is around one made at `frame`: between them on the stack are
// frames of the MPI and of the function that it called. Calls made by one
// function differ by the arguments that they take on the stack.
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
    mt_write(&o->start, s->timed ? s->start : 0);
    __atomic_store_n(&o->what, k.what, __ATOMIC_RELEASE);
}

// A place to keep a line in: a free one, else that of a call which does not seem
// to be around the one at `frame`, else any.
static mt_outer *place_for(mt_thread *t, uint64_t frame)
{
    mt_outer *place = &t->outer[0];
    for (int i = MT_OUTER_CALLS - 1; i >= 0; i--)
        if (!is_around(t->outer[i].frame, frame))
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

// Of two calls of one frame the older is dead.
void mt_current_call_save(mt_thread *t, uint64_t frame)
{
    mt_outer *place = outer_of(t, t->frame);
    if (!place)
        place = place_for(t, frame);
    t->outers += place->frame == 0;
    place->frame = t->frame;
    place->line = *t->open;
}

static void drop(mt_thread *t, mt_outer *outer)
{
    outer->frame = 0;
    t->outers--;
}

void mt_current_call_restore(mt_thread *t, unsigned call, uint64_t frame)
{
    mt_outer *place = outer_of(t, frame), own = {0};
    if (place) {
        own = *place;
        drop(t, place);
    }
    if (own.frame) {
        if (t->open->call != 0)
            mt_current_call_save(t, frame);
        t->frame = frame;
        set_line(t->open, &own.line);
        return;
    }
    // Its place was taken: the call is counted, what it moved and how long it took is not known.
    mt_lost(&mt_header->folded_calls, 1);
    mt_span s = {.thread = t, .frame = frame, .call = (uint16_t)call, .timed = mt_header->timing != MT_TIMING_OFF};
    s.slice = atomic_load_explicit(&mt_at_call.slice, memory_order_relaxed);
    s.start = mt_ticks() - t->open->spent;
    mt_write(&t->open->bytes, 0);
    t->open->source = MT_PEER_NONE;
    mt_current_call_begin(&s);
}

// The innermost of the calls that seem to be around.
static mt_outer *innermost(mt_thread *t, uint64_t frame)
{
    mt_outer *found = NULL;
    for (int i = 0; i < MT_OUTER_CALLS; i++) {
        mt_outer *outer = &t->outer[i];
        if (is_around(outer->frame, frame) && (!found || outer->frame < found->frame))
            found = outer;
    }
    return found;
}

void mt_current_call_leave(mt_thread *t, uint64_t frame)
{
    if (t->frame != frame) {
        mt_outer *own = outer_of(t, frame);
        if (own)
            drop(t, own);
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

void mt_current_call_forget(mt_thread *t)
{
    mt_current_call_clear(t->open);
    for (int i = 0; i < MT_OUTER_CALLS; i++)
        t->outer[i].frame = 0;
    t->outers = 0;
    t->frame = 0;
}

static void tell(const mt_span *s, unsigned direction, uint32_t comm, int32_t peer, uint64_t bytes)
{
    mt_current_call *o = s->thread->open;
    mt_key k = mt_span_key(s, direction, comm, peer, bytes == MT_OPEN_BYTES_UNKNOWN ? 0 : bytes);
    mt_write(&o->place, k.place);
    mt_write(&o->bytes, bytes);
    __atomic_store_n(&o->what, k.what, __ATOMIC_RELEASE);
}

static uint32_t index_of(const mt_span *s, MPI_Comm comm)
{
    if (mt_likely(mt_holds(&s->thread->comm_key, MT_KEY(comm))))
        return s->thread->comm_index;
    const mt_comm *c = mt_comm_known(s->thread, comm);
    return c ? c->index : MT_COMM_NONE;
}

static uint32_t index_of_win(const mt_span *s, MPI_Win win)
{
    const mt_comm *c = mt_win_known(s->thread, win);
    return c ? c->index : MT_COMM_NONE;
}

static uint64_t bytes_of(const mt_span *s, int64_t count, MPI_Datatype type)
{
    mt_thread *t = s->thread;
    if (count == 0)
        return 0;
    if (!mt_holds(&t->type_key, MT_KEY(type)) && !mt_type_known(t, type))
        return MT_OPEN_BYTES_UNKNOWN;
    return (uint64_t)count * t->type_size;
}

void mt_current_call_comm(const mt_span *s, const mt_comm *c, int32_t peer)
{
    if (s->thread)
        tell(s, MT_DIR_NONE, c ? c->index : MT_COMM_NONE, peer, MT_OPEN_BYTES_UNKNOWN);
}

void mt_current_call_peer(const mt_span *s, MPI_Comm comm, int peer)
{
    if (s->thread)
        tell(s, MT_DIR_NONE, index_of(s, comm), mt_peer(peer), MT_OPEN_BYTES_UNKNOWN);
}

void mt_current_call_probe(const mt_span *s, MPI_Comm comm, int peer, int tag)
{
    mt_current_call_peer(s, comm, peer);
    mt_current_call_count(s, tag);
}

void mt_current_call_send(const mt_span *s, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type, int tag)
{
    mt_current_call_count(s, tag);
    if (dest < 0)
        mt_current_call_peer(s, comm, dest);
    else if (s->thread)
        tell(s, MT_DIR_SEND, index_of(s, comm), dest, bytes_of(s, count, type));
}

void mt_current_call_received(const mt_span *s, const mt_comm *c, int32_t peer, int64_t count, MPI_Datatype type)
{
    if (s->thread)
        tell(s, MT_DIR_RECV, c ? c->index : MT_COMM_NONE, peer, bytes_of(s, count, type));
}

void mt_current_call_recv(const mt_span *s, MPI_Comm comm, int source, int64_t count, MPI_Datatype type, int tag)
{
    mt_current_call_count(s, tag);
    if (source == MPI_PROC_NULL)
        mt_current_call_peer(s, comm, source);
    else if (s->thread)
        mt_current_call_received(s, mt_comm_known(s->thread, comm), mt_peer(source), count, type);
}

void mt_current_call_sendrecv(const mt_span *s, MPI_Comm comm, int dest, int64_t count, MPI_Datatype type,
                              int source, int tag)
{
    mt_current_call_send(s, comm, dest, count, type, tag);
    if (s->thread)
        s->thread->open->source = mt_peer(source);
}

// Counts of vectors are not read: they may be no arrays.
void mt_current_call_coll(const mt_span *s, MPI_Comm comm, mt_volume v)
{
    if (!s->thread)
        return;
    const mt_comm *c = mt_comm_known(s->thread, comm);
    bool rooted = v.shape == MT_SHAPE_FROM_ROOT || v.shape == MT_SHAPE_TO_ROOT;
    bool counted = !v.vector && v.shape != MT_SHAPE_BLOCK;
    int32_t peer = rooted ? mt_root_peer(v.root) : MT_PEER_NONE;
    bool root = peer == MT_PEER_ROOT || (c && !(c->flags & MT_COMM_INTER) && v.root == c->rank);
    if (rooted && (v.shape == MT_SHAPE_FROM_ROOT ? !root : root || v.root == MPI_PROC_NULL))
        mt_current_call_comm(s, c, peer);
    else
        tell(s, MT_DIR_SEND, c ? c->index : MT_COMM_NONE, peer,
             counted ? bytes_of(s, v.count, v.type) : MT_OPEN_BYTES_UNKNOWN);
}

void mt_current_call_rma(const mt_span *s, MPI_Win win, int target, unsigned direction, int64_t count,
                         MPI_Datatype type)
{
    if (target < 0)
        mt_current_call_win(s, win, target);
    else if (s->thread)
        tell(s, direction, index_of_win(s, win), target, bytes_of(s, count, type));
}

void mt_current_call_win(const mt_span *s, MPI_Win win, int rank)
{
    if (s->thread)
        tell(s, MT_DIR_NONE, index_of_win(s, win), mt_peer(rank), MT_OPEN_BYTES_UNKNOWN);
}

void mt_current_call_io(const mt_span *s, unsigned direction, int64_t count, MPI_Datatype type)
{
    if (s->thread)
        tell(s, direction, MT_COMM_NONE, MT_PEER_NONE, bytes_of(s, count, type));
}

void mt_current_call_abort(mt_thread *t, mt_current_call *line, MPI_Comm comm, int errorcode)
{
    uint64_t key = MT_KEY(comm);
    mt_comm_hit *hit = t ? mt_comm_place(t->comms, MT_COMM_CACHE, key) : NULL;
    bool remembered = hit && mt_holds(&hit->key, key);
    line->comm = remembered ? hit->comm->index : comm == mt_const.comm_world ? mt_comm_world_index() : MT_COMM_NONE;
    line->peer = MT_PEER_NONE;
    mt_write(&line->bytes, MT_OPEN_BYTES_UNKNOWN);
    line->count = (uint32_t)errorcode;
}

void mt_current_call_count(const mt_span *s, int count)
{
    if (s->thread)
        s->thread->open->count = (uint32_t)count;
}

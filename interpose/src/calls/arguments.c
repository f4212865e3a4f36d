#include "calls/arguments.h"

#include "objects/types.h"
#include "objects/win.h"
#include "calls/leave.h"

static void write_line(const mt_span *s, unsigned direction, uint32_t comm, int32_t peer, uint64_t bytes)
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
        write_line(s, MT_DIR_NONE, c ? c->index : MT_COMM_NONE, peer, MT_OPEN_BYTES_UNKNOWN);
}

void mt_current_call_peer(const mt_span *s, MPI_Comm comm, int peer)
{
    if (s->thread)
        write_line(s, MT_DIR_NONE, index_of(s, comm), mt_peer(peer), MT_OPEN_BYTES_UNKNOWN);
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
        write_line(s, MT_DIR_SEND, index_of(s, comm), dest, bytes_of(s, count, type));
}

void mt_current_call_received(const mt_span *s, const mt_comm *c, int32_t peer, int64_t count, MPI_Datatype type)
{
    if (s->thread)
        write_line(s, MT_DIR_RECV, c ? c->index : MT_COMM_NONE, peer, bytes_of(s, count, type));
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

// Does not read the arrays of counts: the arguments are not checked yet, and may be
// invalid.
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
        write_line(s, MT_DIR_SEND, c ? c->index : MT_COMM_NONE, peer,
             counted ? bytes_of(s, v.count, v.type) : MT_OPEN_BYTES_UNKNOWN);
}

void mt_current_call_rma(const mt_span *s, MPI_Win win, int target, unsigned direction, int64_t count,
                         MPI_Datatype type)
{
    if (target < 0)
        mt_current_call_win(s, win, target);
    else if (s->thread)
        write_line(s, direction, index_of_win(s, win), target, bytes_of(s, count, type));
}

void mt_current_call_win(const mt_span *s, MPI_Win win, int rank)
{
    if (s->thread)
        write_line(s, MT_DIR_NONE, index_of_win(s, win), mt_peer(rank), MT_OPEN_BYTES_UNKNOWN);
}

void mt_current_call_io(const mt_span *s, unsigned direction, int64_t count, MPI_Datatype type)
{
    if (s->thread)
        write_line(s, direction, MT_COMM_NONE, MT_PEER_NONE, bytes_of(s, count, type));
}

void mt_current_call_abort(mt_thread *t, mt_current_call *line, MPI_Comm comm, int errorcode)
{
    uint64_t key = MT_KEY(comm);
    mt_comm_cached *hit = t ? mt_comm_cache_slot(t->comms, MT_COMM_CACHE, key) : NULL;
    bool cached = hit && mt_holds(&hit->key, key);
    line->comm = cached ? hit->comm->index : comm == mt_const.comm_world ? mt_comm_world_index() : MT_COMM_NONE;
    line->peer = MT_PEER_NONE;
    mt_write(&line->bytes, MT_OPEN_BYTES_UNKNOWN);
    line->count = (uint32_t)errorcode;
}

void mt_current_call_count(const mt_span *s, int count)
{
    if (s->thread)
        s->thread->open->count = (uint32_t)count;
}

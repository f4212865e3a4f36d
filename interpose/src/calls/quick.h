// The quick path: the code that is inlined into the wrappers of the calls that programs
// make in loops, and all that such a call costs. It reads the CPU's clock twice, and
// updates one row, which is one cache line, and the thread's current call. All else that it
// reads is in one further cache line of the thread: the last communicator, the last
// datatype, and where the rows are. It calls no function except the MPI's own.
//
// A wrapper first checks, once, that no flag is set (see base.h and enter.c). If so the
// call is timed, and all that is needed is known here. The key of its row is written to the
// thread's current call before the call is passed on, and is read back when it has
// returned, so that no argument has to be kept meanwhile. The same code is inlined again
// for calls that are not timed, and for calls that come from Fortran, are timed by samples,
// or are traced.
//
// All other cases are in a separate function with the same arguments, out of line. It
// handles a communicator or a datatype that is not the last one by the same code. It also
// handles calls that are not quick: not all is known before the call, or it is made inside
// another call.
#ifndef MT_QUICK_H
#define MT_QUICK_H

#include "record/current_call.h"
#include "record/sample.h"
#include "record/stack.h"
#include "record/trace.h"
#include "objects/posted.h"
#include "objects/status.h"
#include "calls/arguments.h"
#include "calls/fortran.h"
#include "calls/leave.h"

// The ways that a quick call can take. The functions below are inlined once for each way,
// and there the compiler knows which way it is.
typedef enum mt_way {
    MT_TIMED,   // no flag is set
    MT_UNTIMED, // no flag is set except that of --timing off
    MT_OTHER,   // from Fortran, timed by samples, or traced
    MT_AROUND,  // any of these, in the function out of line: handles need not be the last ones
} mt_way;

// The caller of a wrapper, which the wrapper passes to its function out of line. For a call
// from Fortran the thread's current call has the site in the program.
extern MT_HIDDEN _Thread_local mt_caller mt_calling __attribute__((tls_model("initial-exec")));
#define MT_TELL_CALLER(line) (mt_calling.site = (line) ? (line)->site : MT_SITE, mt_calling.frame = MT_FRAME)

// Finds the site of a call that may come from Fortran. Returns false if the call is not
// quick.
MT_INLINE bool mt_quick_site(unsigned call, uint64_t *site)
{
    if (mt_flags() & MT_FLAG_SITES) {
        if (mt_record.stacks_on)
            return false;
        if (mt_lies_in(&mt_fortran_bindings, *site) && !mt_fortran_take(call, site))
            return false;
    }
    return true;
}

// Returns the thread's current call if a call can take this way, else NULL. Writes the site
// and the frame at once, so that two words less have to be kept in registers.
MT_INLINE mt_current_call *mt_quick_ready(mt_way way, mt_thread *t, unsigned call, uint64_t site, uint64_t frame)
{
    uint32_t others = MT_FLAG_SITES | MT_FLAG_UNTIMED | MT_FLAG_SAMPLED | MT_FLAG_TRACE;
    bool open = way == MT_TIMED     ? mt_flags_none()
                : way == MT_UNTIMED ? mt_flags() == MT_FLAG_UNTIMED
                                    : !(mt_flags() & ~others) && !MT_CHECKING;
    if (mt_unlikely(!open))
        return NULL;
    mt_current_call *o = t->open;
    if (mt_unlikely(o->call != 0))
        return NULL;
    t->frame = frame;
    mt_write(&o->site, site);
    if ((way == MT_OTHER || way == MT_AROUND) && !mt_quick_site(call, &o->site))
        return NULL;
    return o;
}

// Reports whether a call is timed.
MT_INLINE bool mt_quick_timed(mt_way way, mt_thread *t, const mt_current_call *o)
{
    if (way == MT_TIMED || way == MT_UNTIMED)
        return way == MT_TIMED;
    if (mt_flags() & MT_FLAG_SAMPLED)
        return mt_sample_is_due(mt_sample_pace(t, o->site));
    return !(mt_flags() & MT_FLAG_UNTIMED);
}

// Opens a call of which all is known. Returns true, which the functions below return in
// turn.
MT_INLINE bool mt_quick_begin(mt_way way, mt_thread *t, mt_current_call *o, unsigned call, unsigned direction,
                             uint32_t comm, int32_t peer, uint64_t bytes)
{
    mt_write(&o->bytes, bytes);
    mt_write(&o->place, mt_key_of(0, 0, 0, 0, comm, peer, 0).place);
    mt_write(&o->start, mt_quick_timed(way, t, o) ? mt_cpu_ticks() - o->spent : 0);
    uint32_t slice = atomic_load_explicit(&mt_process.hot.slice, memory_order_relaxed);
    __atomic_store_n(&o->what, mt_key_of(0, slice, call, direction, 0, 0, 0).what, __ATOMIC_RELEASE);
    return true;
}

// Sets the index of a communicator. Returns false if it is not known.
MT_INLINE bool mt_quick_comm(mt_way way, mt_thread *t, MPI_Comm comm, uint32_t *index)
{
    if (mt_likely(mt_holds(&t->comm_key, MT_KEY(comm)))) {
        *index = t->comm_index;
        return true;
    }
    if (way != MT_AROUND)
        return false;
    const mt_comm *c = mt_comm_known(t, comm);
    *index = c ? c->index : MT_COMM_NONE;
    return c != NULL;
}

// Sets the bytes of `count` elements. Returns false if the size of the type is not known.
MT_INLINE bool mt_quick_bytes(mt_way way, mt_thread *t, int64_t count, MPI_Datatype type, uint64_t *bytes)
{
    *bytes = 0;
    if ((way == MT_AROUND || __builtin_constant_p(count)) && count == 0)
        return true;
    if (mt_unlikely(!mt_holds(&t->type_key, MT_KEY(type))) && (way != MT_AROUND || !mt_type_known(t, type)))
        return false;
    *bytes = (uint64_t)count * t->type_size;
    return true;
}

// What each policy enters before the call: as in arguments.h.

// Sets the tag of a call that may be traced, in the field that has a count in other calls.
MT_INLINE void mt_quick_tag(mt_way way, mt_current_call *o, int tag)
{
    if (way != MT_TIMED && way != MT_UNTIMED)
        o->count = (uint32_t)tag;
}

MT_INLINE bool mt_quick_begin_probe(mt_way way, mt_thread *t, mt_current_call *o, unsigned call, MPI_Comm comm,
                                    int peer, int tag)
{
    uint32_t index;
    mt_quick_tag(way, o, tag);
    return mt_quick_comm(way, t, comm, &index) &&
           mt_quick_begin(way, t, o, call, MT_DIR_NONE, index, mt_peer(peer), 0);
}

MT_INLINE bool mt_quick_begin_send(mt_way way, mt_thread *t, mt_current_call *o, unsigned call, MPI_Comm comm, int dest,
                                  int64_t count, MPI_Datatype type, int tag)
{
    uint32_t index;
    uint64_t bytes;
    mt_quick_tag(way, o, tag);
    if (!mt_quick_comm(way, t, comm, &index))
        return false;
    if (mt_unlikely(dest < 0))
        return dest == MPI_PROC_NULL && mt_quick_begin(way, t, o, call, MT_DIR_NONE, index, MT_PEER_PROC_NULL, 0);
    return mt_quick_bytes(way, t, count, type, &bytes) &&
           mt_quick_begin(way, t, o, call, MT_DIR_SEND, index, dest, bytes);
}

MT_INLINE bool mt_quick_begin_recv(mt_way way, mt_thread *t, mt_current_call *o, unsigned call, MPI_Comm comm,
                                   int source, int64_t count, MPI_Datatype type, int tag)
{
    uint32_t index;
    uint64_t room;
    mt_quick_tag(way, o, tag);
    return source != MPI_PROC_NULL && mt_quick_comm(way, t, comm, &index) &&
           mt_quick_bytes(way, t, count, type, &room) &&
           mt_quick_begin(way, t, o, call, MT_DIR_RECV, index, mt_peer(source), room);
}

MT_INLINE bool mt_quick_begin_sendrecv(mt_way way, mt_thread *t, mt_current_call *o, unsigned call, MPI_Comm comm,
                                      int dest, int64_t count, MPI_Datatype type, int source, int tag)
{
    o->source = mt_peer(source);
    return mt_quick_begin_send(way, t, o, call, comm, dest, count, type, tag);
}

// A collective of the most frequent kinds. An intercommunicator is never the last
// communicator, since its collectives need more than this.
MT_INLINE bool mt_quick_begin_coll(mt_way way, mt_thread *t, mt_current_call *o, unsigned call, MPI_Comm comm,
                                  mt_volume v)
{
    bool rooted = v.shape == MT_SHAPE_FROM_ROOT, plain = !v.vector && (rooted || v.shape == MT_SHAPE_ALL);
    uint64_t bytes = 0;
    uint32_t index;
    if (!plain || !mt_quick_comm(way, t, comm, &index) || (way == MT_AROUND && !mt_holds(&t->comm_key, MT_KEY(comm))))
        return false;
    bool sends = !rooted || v.root == t->comm_rank;
    return (!sends || mt_quick_bytes(way, t, v.count, v.type, &bytes)) &&
           mt_quick_begin(way, t, o, call, sends ? MT_DIR_SEND : MT_DIR_NONE, index,
                         rooted ? v.root : MT_PEER_NONE, bytes);
}

MT_INLINE bool mt_quick_begin_count(mt_way way, mt_thread *t, mt_current_call *o, unsigned call, int count)
{
    o->count = (uint32_t)count;
    return mt_quick_begin(way, t, o, call, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0);
}

MT_INLINE uint64_t mt_quick_close(mt_way way, mt_current_call *o)
{
    if (way == MT_UNTIMED || (way != MT_TIMED && !o->start))
        return 0;
    uint64_t now = mt_cpu_ticks();
    return mt_spend(o, now, o->start);
}

// Records a call that is closed: the thread is not in it any more. Each rare case is a
// function that does all that is left to do. Code after such a function would keep a
// register for its values, which would cost every call.
MT_INLINE int mt_quick_book(mt_way way, mt_thread *t, mt_current_call *o, mt_key k, uint64_t bytes, uint64_t ticks)
{
    mt_row *row = mt_row_home(t, k);
    if (mt_unlikely(!mt_row_is(row, k.site, k.place, k.what)) || (way != MT_TIMED && way != MT_UNTIMED && t->extended))
        return mt_leave_quick(t, k.site, k.place, k.what, bytes, ticks);
    mt_add(&row->bytes, bytes);
    if (way == MT_TIMED || (way != MT_UNTIMED && o->start)) {
        mt_add(&row->time, ticks);
        if (mt_unlikely(ticks < row->min))
            mt_write(&row->min, ticks);
        if (mt_unlikely(ticks > row->max))
            return mt_leave_quick_longest(t, row, ticks);
    }
    mt_add(&row->count, 1);
    mt_current_call_clear(o);
    int done = MPI_SUCCESS;
    __asm__("" : "+r"(done)); // not the call's result, which would have to be kept for this
    return done;
}

// Returns the key of the row. It adds the size class, which the thread's current call does
// not have.
MT_INLINE mt_key mt_quick_key(const mt_current_call *o, uint64_t bytes)
{
    return (mt_key){mt_read(&o->site), mt_read(&o->place), mt_read(&o->what) | (uint64_t)mt_size_class(bytes) << 56};
}

// Returns the key of a received message: as in the thread's current call, but with its
// source and its size.
MT_INLINE mt_key mt_quick_received(const mt_current_call *o, unsigned call, unsigned direction, int32_t source,
                                   uint64_t bytes)
{
    return mt_key_of(o->site, o->slice, call, direction, o->comm, source, mt_size_class(bytes));
}

// Records a call as the thread's current call describes it. `moves` is a constant where
// this is inlined.
MT_INLINE int mt_quick_leave(mt_way way, mt_thread *t, uint64_t frame, unsigned call, int rc, bool moves)
{
    if (mt_unlikely(rc != MPI_SUCCESS) || mt_unlikely(t->frame != frame))
        return mt_leave_quick_oddly(t, call, frame, rc);
    mt_current_call *o = t->open;
    uint64_t ticks = mt_quick_close(way, o);
    uint64_t bytes = moves ? mt_read(&o->bytes) : 0;
    return mt_quick_book(way, t, o, mt_quick_key(o, bytes), bytes, ticks);
}

// What each policy records after the call: as in leave.h.

MT_INLINE int mt_quick_send(mt_way way, mt_thread *t, uint64_t frame, unsigned call, int rc, MPI_Comm comm, int dest,
                            int64_t count, MPI_Datatype type)
{
    (void)comm, (void)dest, (void)count, (void)type;
    return mt_quick_leave(way, t, frame, call, rc, true);
}

// A send whose completion is followed in a trace.
MT_INLINE int mt_quick_isend(mt_way way, mt_thread *t, uint64_t frame, unsigned call, int rc, MPI_Comm comm, int dest,
                             int64_t count, MPI_Datatype type, MPI_Request *request)
{
    (void)comm, (void)count, (void)type;
    if (way != MT_TIMED && way != MT_UNTIMED && mt_traced() && rc == MPI_SUCCESS && dest != MPI_PROC_NULL)
        mt_request_add_operation(t, *request);
    return mt_quick_leave(way, t, frame, call, rc, true);
}

MT_INLINE int mt_quick_probe(mt_way way, mt_thread *t, uint64_t frame, unsigned call, int rc, MPI_Comm comm, int peer)
{
    (void)comm, (void)peer;
    return mt_quick_leave(way, t, frame, call, rc, false);
}

MT_INLINE int mt_quick_coll(mt_way way, mt_thread *t, uint64_t frame, unsigned call, int rc, MPI_Comm comm,
                            mt_volume v)
{
    (void)comm, (void)v;
    return mt_quick_leave(way, t, frame, call, rc, true);
}

// Reports whether a status has a message, in fields that can be trusted.
MT_INLINE bool mt_quick_tells(int rc, const MPI_Status *seen)
{
    return mt_likely(rc == MPI_SUCCESS) && mt_likely(seen->MPI_SOURCE >= 0) && mt_likely(mt_objects.status_trusted);
}

MT_INLINE int mt_quick_recv(mt_way way, mt_thread *t, uint64_t frame, unsigned call, int rc, MPI_Comm comm,
                            int source, const MPI_Status *seen)
{
    (void)comm, (void)source;
    if (!mt_quick_tells(rc, seen) || mt_unlikely(t->frame != frame))
        return mt_leave_quick_recv(t, call, frame, rc, seen);
    mt_current_call *o = t->open;
    uint64_t ticks = mt_quick_close(way, o), bytes = mt_status_fields(seen);
    mt_quick_tag(way, o, seen->MPI_TAG);
    return mt_quick_book(way, t, o, mt_quick_received(o, call, MT_DIR_RECV, seen->MPI_SOURCE, bytes), bytes, ticks);
}

MT_INLINE void mt_quick_received_half(mt_way way, mt_thread *t, mt_key k, uint64_t bytes, const MPI_Status *seen)
{
    if (way == MT_TIMED || way == MT_UNTIMED)
        mt_book_untimed(t, k, bytes);
    else
        mt_book_message(t, k, bytes, seen->MPI_TAG, mt_trace_request(t));
}

MT_INLINE int mt_quick_sendrecv(mt_way way, mt_thread *t, uint64_t frame, unsigned call, int rc, MPI_Comm comm,
                                int dest, int64_t count, MPI_Datatype type, int source, const MPI_Status *seen)
{
    (void)comm, (void)dest, (void)count, (void)type, (void)source;
    if (!mt_quick_tells(rc, seen) || mt_unlikely(t->frame != frame))
        return mt_leave_quick_sendrecv(t, call, frame, rc, seen);
    mt_current_call *o = t->open;
    uint64_t ticks = mt_quick_close(way, o), received = mt_status_fields(seen);
    mt_key k = mt_quick_received(o, call, MT_DIR_RECV_POSTED, seen->MPI_SOURCE, received);
    mt_quick_received_half(way, t, k, received, seen);
    uint64_t bytes = mt_read(&o->bytes);
    return mt_quick_book(way, t, o, mt_quick_key(o, bytes), bytes, ticks);
}

MT_INLINE void mt_quick_posted(mt_thread *t, const mt_current_call *o, MPI_Comm comm, MPI_Request request,
                               uint32_t number)
{
    if (!mt_posted_add(o, request, number))
        mt_request_add_receive(o->site, o->slice, o->call, mt_comm_of(t, comm), o->peer, request, number);
}

MT_INLINE int mt_quick_irecv(mt_way way, mt_thread *t, uint64_t frame, unsigned call, int rc, MPI_Comm comm,
                             int source, MPI_Request *request)
{
    if (mt_unlikely(t->frame != frame))
        mt_current_call_restore(t, call, frame);
    if (mt_unlikely(rc != MPI_SUCCESS))
        return mt_leave_quick_oddly(t, call, frame, rc);
    mt_current_call *o = t->open;
    uint64_t ticks = mt_quick_close(way, o);
    if (mt_likely(source != MPI_PROC_NULL) && !mt_process.receives_unfollowed)
        mt_quick_posted(t, o, comm, *request, way == MT_TIMED || way == MT_UNTIMED ? 0 : mt_trace_request(t));
    return mt_quick_book(way, t, o, mt_quick_key(o, 0), 0, ticks);
}

// Calls that wait or test: records the time only.
MT_INLINE void mt_quick_bare(mt_way way, mt_thread *t, uint64_t frame, unsigned call)
{
    if (mt_unlikely(t->frame != frame))
        mt_current_call_restore(t, call, frame);
    mt_current_call *o = t->open;
    uint64_t ticks = mt_quick_close(way, o);
    mt_quick_book(way, t, o, mt_quick_key(o, 0), 0, ticks);
}

// A call in one of the ways: one policy opens it, it is passed on, and another policy
// records it.
#define MT_QUICK_WAY(way, site, frame, name, passed, id, opens, opened, leaves, ...)                                   \
    line = mt_quick_ready(way, t, id, site, frame);                                                                    \
    if (line && mt_quick_begin_##opens(way, t, line, id, MT_UNWRAP opened))                                            \
        return mt_quick_##leaves(way, t, frame, id, mt_pmpi.name passed, __VA_ARGS__);

// MT_QUICK is for a wrapper, and MT_QUICK_APART for its function out of line, to which the
// wrapper passes its caller.
#define MT_QUICK(...)                                                                                                  \
    mt_thread *t = mt_quick_self;                                                                                      \
    mt_current_call *line;                                                                                             \
    MT_QUICK_WAY(MT_TIMED, MT_SITE, MT_FRAME, __VA_ARGS__)                                                             \
    MT_QUICK_WAY(MT_UNTIMED, MT_SITE, MT_FRAME, __VA_ARGS__)                                                           \
    MT_QUICK_WAY(MT_OTHER, MT_SITE, MT_FRAME, __VA_ARGS__)                                                             \
    MT_TELL_CALLER(line);

#define MT_QUICK_APART(...)                                                                                            \
    uint64_t site = mt_calling.site, frame = mt_calling.frame;                                                         \
    mt_thread *t = mt_quick_self;                                                                                      \
    mt_current_call *line;                                                                                             \
    MT_QUICK_WAY(MT_AROUND, site, frame, __VA_ARGS__)

#define MT_UNWRAP(...) __VA_ARGS__

#endif

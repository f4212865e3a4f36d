// A call in its wrapper: it is opened, passed on to the MPI, and recorded when it returns.
//
// What is recorded of a call is written to the thread's current call (current_call.h)
// before the call is passed on, and read back when it has returned, so that no argument has
// to be kept meanwhile. policy.h has one function for each kind of call that does the
// first, and one that does the second. A call takes one of four paths:
//
//   MT_TIMED    No flag is set (base.h) but that of calls from Fortran, the thread is in no
//               other call, and the communicator and the datatype are its last ones. This is
//               the path of calls in loops, and is inlined into their wrappers. It reads the
//               clock twice and updates one row, which is one cache line, and the thread's
//               current call. All else that it reads is in one further cache line of the
//               thread. It calls no function but the MPI's. MPI_Send executes 88
//               instructions.
//   MT_UNTIMED  The same, with --timing off.
//   MT_CACHED   The call may be timed by samples or traced, and its handles are in the
//               thread's caches. This path too calls no function before the MPI's. It is
//               inlined into one function for each call that is made in loops
//               (`cached_Send`).
//   MT_GENERAL  Any call. Its code is in policy.c, once for all calls.
//
// Before the call it is not known whether its arguments are valid, so the MPI is asked
// nothing about them. What is not known then is looked up when the call has succeeded.
#ifndef MT_CALL_H
#define MT_CALL_H

#include "base/hook.h"
#include "record/current_call.h"
#include "record/sample.h"
#include "record/trace.h"
#include "objects/comm.h"
#include "objects/request.h"
#include "objects/types.h"
#include "objects/win.h"
#include "calls/fortran.h"
#include "calls/volume.h"

typedef enum mt_path { MT_TIMED, MT_UNTIMED, MT_CACHED, MT_GENERAL } mt_path;

// What has to be done after a call on the general path before it is recorded: the bits of
// mt_call.pending.
enum {
    MT_PENDING_SPAN = 1,    // the span is complete: nothing is read back from the current call
    MT_PENDING_COMM = 2,    // look up the communicator `comm`
    MT_PENDING_WIN = 4,     // look up the window `win`
    MT_PENDING_BYTES = 8,   // look up the size of `type`
    MT_PENDING_VOLUME = 16, // compute `volume`
};

// A call in its wrapper. Only the general path uses more than the span's thread, frame and
// call, which the compiler knows or keeps in registers.
typedef struct mt_call {
    mt_span span;
    uint32_t flags;       // on the path MT_CACHED
    uint32_t pending;     // on the general path, as all below
    mt_current_call line; // as written before the call: calls inside it may replace the thread's
    uint32_t lock;    // of MPI_Win_lock, as in the tag of an event
    MPI_Comm comm;
    MPI_Win win;
    MPI_Datatype type;
    int64_t count; // elements of `type`
    mt_volume volume;
    mt_request matched; // entry of the message that MPI_Mrecv or MPI_Imrecv is given; key 0 if it has none
    const MPI_Message *message; // that argument
} mt_call;

// Hook: MPI was called while nothing is recorded. It may be the first call of the process,
// or the first one of an MPI that was loaded again.
typedef void mt_hook_unrecorded_call(uint64_t site);
MT_HOOK(unrecorded_call);

// Hook: a call begins, while performance variables are read at intervals. Reads them if it
// is time.
typedef void mt_hook_time_to_read(void);
MT_HOOK(time_to_read);

// --- Opening a call.

// Opens any call.
MT_INLINE void mt_open(mt_call *c, unsigned call, uint64_t site, uint64_t frame)
{
    c->span = mt_enter_from(call, site, frame);
    c->pending = MT_PENDING_SPAN;
    if (c->span.thread)
        c->line = *c->span.thread->open;
}

// Finds the site of a call that may come from Fortran. Returns false if mt_open has to find
// it.
MT_INLINE bool mt_path_site(unsigned call, uint64_t *site)
{
    return !mt_record.stacks_on && (!mt_lies_in(&mt_calls.fortran_bindings, *site) || mt_fortran_take(call, site));
}

// Reports whether no flag is set but this one (or none), and that of calls that may come
// from Fortran.
MT_INLINE bool mt_path_only(uint32_t flag, unsigned call, uint64_t *site)
{
    if (flag == 0 ? mt_likely(mt_flags_none()) : mt_flags() == flag)
        return true;
    return mt_flags() == (flag | MT_FLAG_SITES) && mt_path_site(call, site);
}

// The same for the flags of the path MT_CACHED.
MT_INLINE bool mt_path_flagged(mt_call *c, unsigned call, uint64_t *site)
{
    const uint32_t allowed = MT_FLAG_SITES | MT_FLAG_UNTIMED | MT_FLAG_SAMPLED | MT_FLAG_TRACE;
    c->flags = mt_flags();
    return !MT_CHECKING && mt_likely(!(c->flags & ~allowed)) &&
           (!(c->flags & MT_FLAG_SITES) || mt_path_site(call, site));
}

// Opens a call of the thread mt_quick_self on a path. Returns false if it has to take another
// path. If so, `site` is what the next one has to use.
MT_INLINE bool mt_path_open(mt_path path, mt_call *c, mt_thread *t, unsigned call, uint64_t *site, uint64_t frame)
{
    bool open = path == MT_CACHED ? mt_path_flagged(c, call, site)
                                  : mt_path_only(path == MT_TIMED ? 0 : MT_FLAG_UNTIMED, call, site);
    if (mt_unlikely(!open) || mt_unlikely(t->open->call != 0))
        return false;
    c->span.thread = t;
    c->span.call = (uint16_t)call;
    c->span.frame = frame;
    if (path != MT_CACHED) // else the compiler keeps a register for it: see mt_path_frame
        __asm__("" : "+r"(frame));
    t->frame = frame;
    mt_write(&t->open->site, *site);
    return true;
}

// --- Writing what is known before the call. The functions that set or write something
// return false if the call has to take another path, and true on the general path.

// Reports whether the call is recorded. On the general path it may not be.
MT_INLINE bool mt_path_records(mt_path path, const mt_call *c)
{
    return path != MT_GENERAL || mt_likely(c->span.thread != NULL);
}

// Reports whether the call is timed.
MT_INLINE bool mt_path_timed(mt_path path, const mt_call *c, uint64_t site)
{
    if (path != MT_CACHED)
        return path == MT_TIMED;
    if (mt_unlikely(c->flags & MT_FLAG_SAMPLED))
        return mt_sample_is_due(mt_sample_pace(c->span.thread, site));
    return !(c->flags & MT_FLAG_UNTIMED);
}

// Writes to the thread's current call what the row of the call will have: direction,
// communicator, peer (as in a row), bytes. `what` is written last, and says that the thread
// is in the call.
MT_INLINE bool mt_path_write(mt_path path, mt_call *c, unsigned direction, uint32_t comm, int32_t peer, uint64_t bytes)
{
    mt_current_call *o = c->span.thread->open;
    mt_write(&o->bytes, bytes);
    mt_write(&o->place, mt_key_of(0, 0, 0, 0, comm, peer, 0).place);
    if (path != MT_GENERAL) // mt_open has done this
        mt_write(&o->start, mt_path_timed(path, c, o->site) ? mt_cpu_ticks() - o->spent : 0);
    uint32_t slice =
        path == MT_GENERAL ? o->slice : atomic_load_explicit(&mt_process.hot.slice, memory_order_relaxed);
    __atomic_store_n(&o->what, mt_key_of(0, slice, c->span.call, direction, 0, 0, 0).what, __ATOMIC_RELEASE);
    if (path == MT_GENERAL)
        c->line = *o;
    return true;
}

// Reports whether a handle that is in the thread's caches, and is not the last one, may be
// used from there. One call in 64 takes the general path, which makes its handles the last
// ones: the program may go on with them.
MT_INLINE bool mt_path_uses_cache(mt_thread *t)
{
    return mt_likely(++t->cached_uses % 64 != 0);
}

// Sets the index of a communicator.
MT_INLINE bool mt_path_comm(mt_path path, mt_call *c, MPI_Comm comm, uint32_t *index)
{
    mt_thread *t = c->span.thread;
    if (mt_likely(mt_holds(&t->comm_key, MT_KEY(comm)))) {
        *index = t->comm_index;
        return true;
    }
    if (path == MT_CACHED) {
        mt_comm_cached *hit = mt_comm_cache_slot(t->comms, MT_COMM_CACHE, MT_KEY(comm));
        if (!mt_holds(&hit->key, MT_KEY(comm)) || !hit->comm) // an empty slot has the key of an invalid handle
            return false;
        *index = hit->comm->index;
        return *index != MT_COMM_NONE && mt_path_uses_cache(t);
    }
    if (path != MT_GENERAL)
        return false;
    const mt_comm *known = mt_comm_known(t, comm);
    *index = known ? known->index : MT_COMM_NONE;
    if (!known) {
        c->pending |= MT_PENDING_COMM;
        c->comm = comm;
    }
    return true;
}

// Sets the bytes of `count` elements of a type.
MT_INLINE bool mt_path_bytes(mt_path path, mt_call *c, int64_t count, MPI_Datatype type, uint64_t *bytes)
{
    mt_thread *t = c->span.thread;
    *bytes = 0;
    if ((path == MT_GENERAL || __builtin_constant_p(count)) && count == 0)
        return true;
    if (mt_likely(mt_holds(&t->type_key, MT_KEY(type)))) {
        *bytes = (uint64_t)count * t->type_size;
        return true;
    }
    if (path == MT_CACHED) {
        mt_type_cached *hit = mt_type_cache_slot(t, MT_KEY(type));
        *bytes = (uint64_t)count * hit->size;
        return mt_holds(&hit->key, MT_KEY(type)) && mt_path_uses_cache(t);
    }
    if (path != MT_GENERAL)
        return false;
    if (mt_type_known(t, type)) {
        *bytes = (uint64_t)count * t->type_size;
    } else {
        *bytes = MT_OPEN_BYTES_UNKNOWN;
        c->pending |= MT_PENDING_BYTES;
        c->type = type;
        c->count = count;
    }
    return true;
}

// Sets the communicator of a window. A trace also needs the window's number, and how it is
// locked (`lock`).
MT_INLINE bool mt_path_win(mt_path path, mt_call *c, MPI_Win win, uint32_t lock, uint32_t *index)
{
    mt_win_cached *hit = mt_win_cache_slot(c->span.thread, MT_KEY(win));
    if (mt_unlikely(!mt_holds(&hit->key, MT_KEY(win))) || mt_unlikely(!hit->comm)) {
        if (path != MT_GENERAL)
            return false;
        const mt_comm *known = mt_win_known(c->span.thread, win);
        *index = known ? known->index : MT_COMM_NONE;
        c->pending |= MT_PENDING_WIN;
        c->win = win;
        c->lock = lock;
        return true;
    }
    *index = hit->comm->index;
    if (path == MT_CACHED || path == MT_GENERAL)
        c->span.thread->open->count = mt_win_tag(hit->number, lock);
    return true;
}

// --- Recording the call when it has returned.

// Records any call: its time, and what was written before it; of a failed call only its
// time. Nothing is looked up then, since asking for the size of an invalid datatype would
// call the program's error handler. Returns rc.
int mt_end(mt_call *c, int rc);

// The same for a call that moves no data: its bytes are 0, whatever was written.
int mt_end_empty(mt_call *c, int rc);

// Makes the call the thread's current one again, if calls inside it replaced it, and fills
// in its span.
void mt_call_resume(mt_call *c);

// Looks up what was not known before the call, and writes it to the thread's current call.
// The call has succeeded.
void mt_call_look_up(mt_call *c);

// Records a call on the paths other than the general one if it failed, or if it is not the
// thread's current call any more because calls were made inside it.
int mt_end_unusual(mt_thread *t, unsigned call, uint64_t frame, int rc) MT_SLOW;

// Adds a call to a row, and records its event. Does what most traced calls need, and passes
// all others on to mt_path_book_extended.
int mt_path_book_traced(mt_thread *t, mt_row *row, uint64_t bytes, uint64_t ticks) MT_NOINLINE;

// Adds any call to a row: it may be timed by samples or not at all, and may be traced.
int mt_path_book_extended(mt_thread *t, mt_row *row, uint64_t bytes, uint64_t ticks) MT_NOINLINE;

// Adds a call to a row that is not in its home slot.
int mt_path_book_elsewhere(mt_thread *t, uint64_t site, uint64_t place, uint64_t what, uint64_t bytes,
                           uint64_t ticks) MT_NOINLINE;

// Records the call as the longest one of its row. Only the row's maximum and count are still
// to be updated.
int mt_path_book_longest(mt_thread *t, mt_row *row, uint64_t ticks) MT_SLOW;

// Returns the frame of the wrapper. On the short paths this is inlined into the wrapper.
MT_INLINE uint64_t mt_path_frame(mt_path path, const mt_call *c)
{
    return path == MT_CACHED ? c->span.frame : MT_FRAME;
}

// Reports whether the call failed, or is not the thread's current call any more.
MT_INLINE bool mt_path_is_unusual(mt_path path, const mt_call *c, int rc)
{
    return mt_unlikely(rc != MPI_SUCCESS) || mt_unlikely(c->span.thread->frame != mt_path_frame(path, c));
}

// Returns the duration of the call in ticks, 0 if it is not timed.
MT_INLINE uint64_t mt_path_close(mt_path path, mt_current_call *o)
{
    if (path == MT_UNTIMED || (path == MT_CACHED && !o->start))
        return 0;
    uint64_t now = mt_cpu_ticks();
    return mt_spend(o, now, o->start);
}

// Returns the key of the row: as in the current call, with the size class.
MT_INLINE mt_key mt_path_key(const mt_current_call *o, uint64_t bytes)
{
    return (mt_key){mt_read(&o->site), mt_read(&o->place), mt_read(&o->what) | (uint64_t)mt_size_class(bytes) << 56};
}

// Adds a call that is closed to its row. Each rare case is a function that does all that is
// left to do. Code after such a function would keep a register for its values, which would
// cost every call.
MT_INLINE int mt_path_book(mt_path path, mt_thread *t, mt_current_call *o, mt_key k, uint64_t bytes, uint64_t ticks)
{
    mt_row *row = mt_row_home(t, k);
    if (mt_unlikely(!mt_row_is(row, k.site, k.place, k.what)))
        return mt_path_book_elsewhere(t, k.site, k.place, k.what, bytes, ticks);
    if (path == MT_CACHED && t->extended)
        return mt_path_book_traced(t, row, bytes, ticks);
    mt_add(&row->bytes, bytes);
    if (path == MT_TIMED || (path == MT_CACHED && o->start)) {
        mt_add(&row->time, ticks);
        if (mt_unlikely(ticks < row->min))
            mt_write(&row->min, ticks);
        if (mt_unlikely(ticks > row->max))
            return mt_path_book_longest(t, row, ticks);
    }
    mt_add(&row->count, 1);
    mt_current_call_clear(o);
    int done = MPI_SUCCESS;
    __asm__("" : "+r"(done)); // not the call's result, which would have to be kept for this
    return done;
}

// Records the call as its line describes it. `moves` says whether it may have data.
MT_INLINE int mt_path_end_line(mt_path path, mt_call *c, int rc, bool moves)
{
    mt_thread *t = c->span.thread;
    if (path == MT_GENERAL)
        return moves ? mt_end(c, rc) : mt_end_empty(c, rc);
    if (mt_path_is_unusual(path, c, rc))
        return mt_end_unusual(t, c->span.call, mt_path_frame(path, c), rc);
    mt_current_call *o = t->open;
    uint64_t ticks = mt_path_close(path, o), bytes = moves ? mt_read(&o->bytes) : 0;
    return mt_path_book(path, t, o, mt_path_key(o, bytes), bytes, ticks);
}

MT_INLINE int mt_path_end(mt_path path, mt_call *c, int rc)
{
    return mt_path_end_line(path, c, rc, true);
}

MT_INLINE int mt_path_end_empty(mt_path path, mt_call *c, int rc)
{
    return mt_path_end_line(path, c, rc, false);
}

#endif

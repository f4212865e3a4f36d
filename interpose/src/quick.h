// The quick way: what is inlined into the wrappers of the calls that programs
// make in loops, and all that such a call costs. It is two readings of the CPU's
// clock and the update of one row, which is one cache line, and nothing that is
// not in another cache line, of the thread: the last communicator, the last
// datatype, where the rows are. No function is called but the MPI's own.
//
// A wrapper looks once, before anything else, whether the gate is open (gate.c
// and mt.h have what closes it). If so it is timed, and all is known here. If it
// comes from Fortran, or is not timed, or timed by samples, it is nearly as
// quick, by the same code. The policies below book a call and return true, or
// leave it as it is, false, to those of the same names in leave.h: if it failed,
// or if there is more to it.
#ifndef MT_QUICK_H
#define MT_QUICK_H

#include "fortran.h"
#include "leave.h"
#include "sample.h"
#include "stack.h"
#include "status.h"

typedef struct mt_quick {
    mt_thread *thread;
    uint64_t start; // as in mt_span
    uint32_t slice;
    // Of MT_OTHER only:
    bool timed;
    uint64_t site;
    mt_pace *pace;  // where calls are timed by samples, else NULL
} mt_quick;

// The functions below are told what kind of call it is: they are inlined once
// for each into a wrapper, and in each place the compiler knows it.
typedef enum mt_kind {
    MT_TIMED,   // nothing closes the gate
    MT_UNTIMED, // nothing but --timing off
    MT_OTHER,   // from Fortran, or timed by samples
} mt_kind;

// Opens a call; false if the gate is closed.
MT_INLINE bool mt_quick_enter(mt_quick *q)
{
    q->thread = mt_self;
    if (mt_unlikely(!q->thread || !mt_gate_open()))
        return false;
    q->slice = atomic_load_explicit(&mt_at_call.slice, memory_order_relaxed);
    q->start = mt_cpu_ticks() - q->thread->spent;
    __asm__("" : "+r"(q->start)); // one word to keep, and not the two that it is made of
    return true;
}

// The same for one that nothing but --timing off closes the gate to.
MT_INLINE bool mt_quick_enter_untimed(mt_quick *q)
{
    q->thread = mt_self;
    if (!q->thread || mt_gate() != MT_GATE_UNTIMED)
        return false;
    q->slice = atomic_load_explicit(&mt_at_call.slice, memory_order_relaxed);
    return true;
}

// The same for the others; false if the call is not quick.
MT_INLINE bool mt_quick_enter_other(mt_quick *q, unsigned call)
{
    uint32_t gate = mt_gate();
    q->thread = mt_self;
    if (!q->thread || (gate & ~(uint32_t)(MT_GATE_SITES | MT_GATE_UNTIMED | MT_GATE_SAMPLED)) || MT_CHECKING)
        return false;
    q->site = MT_SITE;
    if ((gate & MT_GATE_SITES) && (mt_stacks_on || (mt_lies_in(&mt_bindings, q->site) && !mt_fortran_take(call, &q->site))))
        return false;
    q->pace = NULL;
    q->timed = !(gate & MT_GATE_UNTIMED);
    if (gate & MT_GATE_SAMPLED) {
        q->pace = mt_sample_pace(q->thread, q->site);
        q->timed = mt_sample_turn(q->pace);
    }
    q->slice = atomic_load_explicit(&mt_at_call.slice, memory_order_relaxed);
    if (q->timed)
        q->start = mt_cpu_ticks() - q->thread->spent;
    return true;
}

MT_INLINE bool mt_quick_timed(mt_kind kind, const mt_quick *q)
{
    return kind == MT_TIMED || (kind == MT_OTHER && q->timed);
}

MT_INLINE uint64_t mt_quick_site(mt_kind kind, const mt_quick *q)
{
    return kind == MT_OTHER ? q->site : MT_SITE;
}

// The same as a span, for a call that turns out not to be quick.
MT_INLINE mt_span mt_quick_span(mt_kind kind, const mt_quick *q, unsigned call)
{
    bool timed = mt_quick_timed(kind, q);
    return (mt_span){.thread = q->thread, .start = timed ? q->start : 0, .site = mt_quick_site(kind, q), .slice = q->slice,
                     .call = (uint16_t)call, .timed = timed};
}

MT_INLINE uint64_t mt_quick_close(mt_kind kind, const mt_quick *q)
{
    return mt_quick_timed(kind, q) ? mt_spend(q->thread, mt_cpu_ticks(), q->start) : 0;
}

MT_INLINE mt_key mt_quick_key(mt_kind kind, const mt_quick *q, unsigned call, unsigned direction, uint32_t comm, int32_t peer,
                              uint64_t bytes)
{
    return mt_key_of(mt_quick_site(kind, q), q->slice, call, direction, comm, peer, mt_size_class(bytes));
}

MT_INLINE void mt_quick_book(mt_kind kind, const mt_quick *q, unsigned call, unsigned direction, uint32_t comm, int32_t peer,
                             uint64_t bytes, uint64_t ticks)
{
    mt_row *row = mt_row_of(q->thread, mt_quick_key(kind, q, call, direction, comm, peer, bytes));
    mt_add(&row->bytes, bytes);
    if (mt_quick_timed(kind, q) && !(kind == MT_OTHER && q->pace))
        mt_row_time(row, ticks);
    mt_add(&row->count, 1);
    if (kind == MT_OTHER && q->pace)
        mt_sample_book(q->thread, q->pace, row, q->timed, ticks);
}

MT_INLINE bool mt_quick_send(mt_kind kind, const mt_quick *q, unsigned call, int rc, MPI_Comm comm, int dest, int64_t count,
                             MPI_Datatype type)
{
    if (mt_unlikely(rc != MPI_SUCCESS))
        return false;
    uint64_t ticks = mt_quick_close(kind, q);
    uint32_t index = mt_comm_index(q->thread, comm);
    if (mt_likely(dest >= 0))
        mt_quick_book(kind, q, call, MT_DIR_SEND, index, dest, mt_data_bytes(q->thread, count, type), ticks);
    else
        mt_quick_book(kind, q, call, MT_DIR_NONE, index, mt_peer(dest), 0, ticks);
    return true;
}

MT_INLINE bool mt_quick_probe(mt_kind kind, const mt_quick *q, unsigned call, int rc, MPI_Comm comm, int peer)
{
    if (mt_unlikely(rc != MPI_SUCCESS))
        return false;
    uint64_t ticks = mt_quick_close(kind, q);
    mt_quick_book(kind, q, call, MT_DIR_NONE, mt_comm_index(q->thread, comm), mt_peer(peer), 0, ticks);
    return true;
}

// Whether a status has a message, in fields that can be believed.
MT_INLINE bool mt_quick_received(int rc, int source, const MPI_Status *seen)
{
    return mt_likely(rc == MPI_SUCCESS) && mt_likely(source != MPI_PROC_NULL) && mt_likely(seen->MPI_SOURCE >= 0) &&
           mt_likely(mt_status_trusted);
}

MT_INLINE bool mt_quick_recv(mt_kind kind, const mt_quick *q, unsigned call, int rc, MPI_Comm comm, int source,
                             const MPI_Status *seen)
{
    if (!mt_quick_received(rc, source, seen))
        return false;
    uint64_t ticks = mt_quick_close(kind, q);
    mt_quick_book(kind, q, call, MT_DIR_RECV, mt_comm_index(q->thread, comm), seen->MPI_SOURCE, mt_status_fields(seen),
                  ticks);
    return true;
}

MT_INLINE bool mt_quick_sendrecv(mt_kind kind, const mt_quick *q, unsigned call, int rc, MPI_Comm comm, int dest, int64_t count,
                                 MPI_Datatype type, int source, const MPI_Status *seen)
{
    if (!mt_quick_received(rc, source, seen) || mt_unlikely(dest < 0))
        return false;
    uint64_t ticks = mt_quick_close(kind, q), received = mt_status_fields(seen);
    uint32_t index = mt_comm_index(q->thread, comm);
    mt_quick_book(kind, q, call, MT_DIR_SEND, index, dest, mt_data_bytes(q->thread, count, type), ticks);
    mt_book_untimed(q->thread, mt_quick_key(kind, q, call, MT_DIR_RECV_POSTED, index, seen->MPI_SOURCE, received), received);
    return true;
}

MT_INLINE bool mt_quick_irecv(mt_kind kind, const mt_quick *q, unsigned call, int rc, MPI_Comm comm, int source,
                              MPI_Request *request)
{
    if (mt_unlikely(rc != MPI_SUCCESS))
        return false;
    uint64_t ticks = mt_quick_close(kind, q);
    int32_t peer = mt_peer(source);
    mt_quick_book(kind, q, call, MT_DIR_NONE, mt_comm_index(q->thread, comm), peer, 0, ticks);
    if (mt_likely(source != MPI_PROC_NULL) && !mt_receives_unfollowed)
        mt_request_receive(mt_quick_site(kind, q), q->slice, call, mt_comm_of(q->thread, comm), peer, *request);
    return true;
}

// Waiting, testing: time and nothing else.
MT_INLINE void mt_quick_bare(mt_kind kind, const mt_quick *q, unsigned call)
{
    uint64_t ticks = mt_quick_close(kind, q);
    mt_quick_book(kind, q, call, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0, ticks);
}

// Whether the communicator is the last one. An intercommunicator never is, since
// its collectives are more than this.
MT_INLINE bool mt_is_last_comm(mt_thread *t, MPI_Comm comm)
{
    if (mt_likely(mt_holds(&t->comm_key, MT_KEY(comm))))
        return true;
    mt_comm_find(t, comm);
    return mt_holds(&t->comm_key, MT_KEY(comm));
}

// A collective, of the kinds that are most frequent.
MT_INLINE bool mt_quick_coll(mt_kind kind, const mt_quick *q, unsigned call, int rc, MPI_Comm comm, mt_volume v)
{
    bool rooted = v.shape == MT_SHAPE_FROM_ROOT, plain = !v.vector && (rooted || v.shape == MT_SHAPE_ALL);
    mt_thread *t = q->thread;
    if (!plain || mt_unlikely(rc != MPI_SUCCESS) || !mt_is_last_comm(t, comm))
        return false;
    uint64_t ticks = mt_quick_close(kind, q);
    if (rooted && v.root != t->comm_rank) {
        mt_quick_book(kind, q, call, MT_DIR_NONE, t->comm_index, v.root, 0, ticks);
    } else {
        uint64_t bytes = mt_data_bytes(t, v.count, v.type);
        mt_quick_book(kind, q, call, MT_DIR_SEND, t->comm_index, rooted ? v.root : MT_PEER_NONE, bytes, ticks);
    }
    return true;
}

// A wrapper: it passes the call on, in one of these ways, and books it. `apart`
// is the same call of apart_name, which is told the call site, for what is not quick.
#define MT_QUICK(name, id, policy, apart, passed, ...)                                                                 \
    mt_span span;                                                                                                      \
    int rc;                                                                                                            \
    mt_quick timed, untimed, other;                                                                                    \
    if (mt_quick_enter(&timed)) {                                                                                      \
        rc = mt_pmpi.name passed;                                                                                      \
        if (mt_quick_##policy(MT_TIMED, &timed, id, rc, __VA_ARGS__))                                                  \
            return rc;                                                                                                 \
        span = mt_quick_span(MT_TIMED, &timed, id);                                                                    \
    } else if (mt_quick_enter_untimed(&untimed)) {                                                                     \
        rc = mt_pmpi.name passed;                                                                                      \
        if (mt_quick_##policy(MT_UNTIMED, &untimed, id, rc, __VA_ARGS__))                                              \
            return rc;                                                                                                 \
        span = mt_quick_span(MT_UNTIMED, &untimed, id);                                                                \
    } else if (mt_quick_enter_other(&other, id)) {                                                                     \
        rc = mt_pmpi.name passed;                                                                                      \
        if (mt_quick_##policy(MT_OTHER, &other, id, rc, __VA_ARGS__))                                                  \
            return rc;                                                                                                 \
        span = mt_quick_span(MT_OTHER, &other, id);                                                                    \
    } else {                                                                                                           \
        return apart;                                                                                                  \
    }                                                                                                                  \
    mt_leave_##policy(&span, rc, __VA_ARGS__);                                                                         \
    return rc;

#endif

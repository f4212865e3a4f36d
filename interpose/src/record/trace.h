// Tracing: each time that something is added to a row, an event of 32 bytes says
// so, with when it was and how long it took. What the row knows already (which
// call, where, with whom) is not written again: the event names the row.
//
// Events lie in chunks of a file that is mapped as the recording is. A thread
// fills its chunk without a lock. When it is full it is written behind the others,
// and filled again, or another is mapped where writing is dear; where the last part
// is to be kept, the oldest is filled again. An
// event costs a dozen instructions, two cache lines, and with one in some 8,000 a
// few calls of the system. It is whole once its chunk's count says so, whatever
// becomes of the process.
#ifndef MT_TRACE_H
#define MT_TRACE_H

#include "base/base.h"
#include "record/record.h"
#include "record/state.h"

// Of each call whether, and how, it is traced.
enum { MT_TRACE_NOT, MT_TRACE_PLAIN, MT_TRACE_TAGGED /* the open line's count says something */ };

// Makes the file, if the settings ask for a trace; once the recording is open.
void mt_trace_open(void);

// The rank is known: those that are not to be traced have no file any more.
void mt_trace_rank(int rank);

// Calls that begin now are of the slice of this name.
void mt_trace_slice(const char *name);

// A chunk with room in place of the full one; NULL where there is none: an event
// is dropped, and counted.
mt_l_chunk *mt_trace_chunk(mt_thread *t) MT_APART;

// Whether calls that end now have events.
MT_INLINE bool mt_traced(void)
{
    return mt_enter_flags() & MT_ENTER_TRACE;
}

uint32_t mt_trace_number(mt_thread *t) MT_APART;

// A number for a request that the call at hand starts: its event has it too. 0
// where nothing is traced.
MT_INLINE uint32_t mt_trace_request(mt_thread *t)
{
    return mt_unlikely(mt_traced()) ? mt_trace_number(t) : 0;
}

// The operation of a request completed, in the call that returned last.
void mt_trace_completed(uint32_t request);

// What does not fit into 48 bits, or is negative since the clock ran back.
uint64_t mt_trace_clamped(uint64_t value) MT_SLOW;

MT_INLINE void mt_trace_event(mt_thread *t, uint32_t row, uint64_t start, uint64_t ticks, uint64_t bytes, int32_t tag,
                              uint32_t request)
{
    mt_l_chunk *c = t->chunk;
    if (mt_unlikely(c->count >= MT_CHUNK_EVENTS) && !(c = mt_trace_chunk(t)))
        return;
    if (mt_unlikely((ticks | bytes) >> 48)) {
        ticks = mt_trace_clamped(ticks);
        bytes = mt_trace_clamped(bytes);
    }
    mt_l_event *e = (mt_l_event *)(c + 1) + c->count;
    mt_write(&e->start, start);
    mt_write(&e->ticks, ticks | (uint64_t)request << 48);
    mt_write(&e->bytes, bytes | (uint64_t)(request >> 16) << 48);
    __atomic_store_n(&e->row, row, __ATOMIC_RELAXED);
    __atomic_store_n(&e->tag, tag, __ATOMIC_RELAXED);
    __atomic_store_n(&c->count, c->count + 1, __ATOMIC_RELEASE);
}

// What of a row an event names; 0 of what is in no row.
MT_INLINE uint32_t mt_trace_row(const mt_thread *t, const mt_row *row)
{
    return row == &t->spare ? 0 : t->rows_at + (uint32_t)(row - t->rows);
}

// An event of a call that has just been closed and booked.
MT_INLINE void mt_trace_call(mt_thread *t, const mt_row *row, unsigned call, uint64_t ticks, uint64_t bytes)
{
    const mt_current_call *o = t->open;
    uint32_t request = t->posts;
    t->posts = 0;
    if (mt_record.trace_how[call] != MT_TRACE_NOT)
        mt_trace_event(t, mt_trace_row(t, row), o->last - ticks, ticks, bytes,
                       mt_record.trace_how[call] == MT_TRACE_TAGGED ? (int32_t)o->count : MT_EVENT_NO_TAG, request);
}

// An event of what goes with another call than the one that has its time: of when
// the thread's latest call returned.
void mt_trace_beside(mt_thread *t, const mt_row *row, mt_key k, uint64_t bytes, int32_t tag, uint32_t request) MT_APART;

// The same as mt_book_untimed, with an event where calls have them.
MT_INLINE void mt_book_beside(mt_thread *t, mt_key k, uint64_t bytes, int32_t tag, uint32_t request)
{
    mt_row *row = mt_book_untimed(t, k, bytes);
    if (mt_unlikely(mt_traced()))
        mt_trace_beside(t, row, k, bytes, tag, request);
}

#endif

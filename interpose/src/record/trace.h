// Tracing: each addition to a row is also recorded as an event of 32 bytes, with its
// time and duration. An event refers to the row for what is known there: which call,
// from where, with which peer.
//
// Events lie in chunks of a file that is mapped as the recording is. A thread fills its
// chunk without a lock. A full chunk is written behind the others, and the
// thread fills it again. Where writing is expensive, the thread gets another mapped
// chunk instead. If only the last events are kept, the oldest chunk is filled again. An
// event costs about 30 instructions and two cache lines, and one event in about 8,000
// also a few system calls. An event is complete once the count of its chunk includes
// it, whatever happens to the process after that.
#ifndef MT_TRACE_H
#define MT_TRACE_H

#include "base/base.h"
#include "record/record.h"
#include "record/state.h"

// Whether, and how, a call is traced.
enum { MT_TRACE_NOT, MT_TRACE_PLAIN, MT_TRACE_TAGGED /* with the count of the line: a tag, a window */ };

// Makes the file, if the settings ask for a trace. Called once the recording is open.
void mt_trace_open(void);

// Called when the rank is known. Removes the file of a rank that is not to be traced.
void mt_trace_rank(int rank);

// Called when a slice of this name begins. Tracing is on in the slices that the setting
// lists.
void mt_trace_slice(const char *name);

// Gives the thread a chunk with room in place of its full one. If there is none, counts
// the event as dropped and returns NULL.
mt_l_chunk *mt_trace_chunk(mt_thread *t) MT_NOINLINE;

// Reports whether calls that end now add events to the trace.
MT_INLINE bool mt_traced(void)
{
    return mt_flags() & MT_FLAG_TRACE;
}

uint32_t mt_trace_number(mt_thread *t) MT_NOINLINE;

// Returns a number for a request that the current call starts. The event of the call
// has it too. Returns 0 if nothing is traced.
MT_INLINE uint32_t mt_trace_request(mt_thread *t)
{
    return mt_unlikely(mt_traced()) ? mt_trace_number(t) : 0;
}

// Adds an event: the operation of a request completed, during the call that returned
// last.
void mt_trace_completed(uint32_t request);

// Returns a value that fits into 48 bits: the largest one instead of a larger value, 0
// instead of a negative one (the clock ran backwards).
uint64_t mt_trace_clamped(uint64_t value) MT_SLOW;

// Writes an event to the place behind the `n` events of a chunk, which has room for it.
// The chunk's count is stored last, so that readers see only complete events. `ticks` and
// `bytes` have 48 bits.
MT_INLINE void mt_trace_write(mt_l_chunk *c, uint64_t n, uint32_t row, uint64_t start, uint64_t ticks, uint64_t bytes,
                              int32_t tag, uint32_t request)
{
    mt_l_event *e = (mt_l_event *)(c + 1) + n;
    mt_write(&e->start, start);
    mt_write(&e->ticks, ticks | (uint64_t)request << 48);
    mt_write(&e->bytes, bytes | (uint64_t)(request >> 16) << 48);
    __atomic_store_n(&e->row, row, __ATOMIC_RELAXED);
    __atomic_store_n(&e->tag, tag, __ATOMIC_RELAXED);
    __atomic_store_n(&c->count, n + 1, __ATOMIC_RELEASE);
}

// Adds an event to the thread's chunk.
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
    mt_trace_write(c, c->count, row, start, ticks, bytes, tag, request);
}

// Returns the number by which an event refers to a row; 0 for calls that have no row.
MT_INLINE uint32_t mt_trace_row(const mt_thread *t, const mt_row *row)
{
    return row == &t->spare ? 0 : t->rows_at + (uint32_t)(row - t->rows);
}

// Adds the event of a call that has just been closed and booked.
MT_INLINE void mt_trace_call(mt_thread *t, const mt_row *row, unsigned call, uint64_t ticks, uint64_t bytes)
{
    const mt_current_call *o = t->open;
    uint32_t request = t->request_number;
    t->request_number = 0;
    if (mt_record.trace_how[call] != MT_TRACE_NOT)
        mt_trace_event(t, mt_trace_row(t, row), o->last - ticks, ticks, bytes,
                       mt_record.trace_how[call] == MT_TRACE_TAGGED ? (int32_t)o->count : MT_EVENT_NO_TAG, request);
}

// Adds an event for messages whose time is in the row of another call
// (mt_book_untimed). Its time is when the thread's latest call returned, its duration
// is 0.
void mt_trace_message(mt_thread *t, const mt_row *row, mt_key k, uint64_t bytes, int32_t tag,
                      uint32_t request) MT_NOINLINE;

// Does what mt_book_untimed does, and adds an event if calls have events.
MT_INLINE void mt_book_message(mt_thread *t, mt_key k, uint64_t bytes, int32_t tag, uint32_t request)
{
    mt_row *row = mt_book_untimed(t, k, bytes);
    if (mt_unlikely(mt_traced()))
        mt_trace_message(t, row, k, bytes, tag, request);
}

#endif

// The fact table: one row of 64 bytes for each distinct key, in an open hash
// table that the thread owns and that lies in the recording.
//
// The fast path is a hash of the key, one compare of three words and five
// stores, all in one cache line, and one store of the time to the thread's
// record. Invariants: one writer a table; a row's key is
// complete before `what` is stored, its numbers before `count`; a table is
// never more than three quarters full of ordinary rows.
#ifndef MT_RECORD_H
#define MT_RECORD_H

#include "clock.h"
#include "mt.h"

typedef struct mt_key {
    uint64_t site, place, what;
} mt_key;

// What a row is about. peer and size class are of one message.
MT_INLINE mt_key mt_key_of(uint64_t site, uint32_t slice, unsigned call, unsigned direction, uint32_t comm, int32_t peer,
                           unsigned size_class)
{
    return (mt_key){site, comm | (uint64_t)(uint32_t)peer << 32,
                    slice | (uint64_t)call << 32 | (uint64_t)direction << 48 | (uint64_t)size_class << 56};
}

MT_INLINE unsigned mt_size_class(uint64_t bytes)
{
    return bytes ? 64u - (unsigned)__builtin_clzll(bytes) : 0;
}

MT_INLINE uint64_t mt_hash(mt_key k)
{
    uint64_t h = k.site ^ (k.place * 0x9e3779b97f4a7c15u) ^ (k.what << 17 | k.what >> 47);
    return h * 0xd6e8feb86659fd93u;
}

// Finds or makes the row. Never NULL: what has no room is folded into a row
// without site, slice and peer (in the end also without communicator), and
// counted.
mt_row *mt_row_find(mt_thread *t, mt_key k) MT_SLOW;

MT_INLINE mt_row *mt_row_of(mt_thread *t, mt_key k)
{
    mt_row *row = &t->rows[mt_hash(k) >> t->shift];
    if (mt_likely(mt_load(&row->what) == k.what && mt_load(&row->place) == k.place && mt_load(&row->site) == k.site))
        return row;
    return mt_row_find(t, k);
}

// Books one timed call.
MT_INLINE void mt_book(mt_thread *t, mt_key k, uint64_t bytes, uint64_t ticks)
{
    mt_row *row = mt_row_of(t, k);
    mt_add(&row->bytes, bytes);
    mt_add(&row->time, ticks);
    if (ticks < mt_load(&row->min))
        mt_store(&row->min, ticks);
    if (ticks > mt_load(&row->max))
        mt_store(&row->max, ticks);
    atomic_store_explicit(&row->count, mt_load(&row->count) + 1, memory_order_release);
}

// Books messages that another call's time pays for.
MT_INLINE void mt_book_untimed(mt_thread *t, mt_key k, uint64_t bytes)
{
    mt_row *row = mt_row_of(t, k);
    mt_add(&row->bytes, bytes);
    atomic_store_explicit(&row->count, mt_load(&row->count) + 1, memory_order_release);
}

// The slow ways into a wrapper: see lifecycle.c, thread.c, site.c and slice.c.
mt_thread *mt_enter_slow(uint64_t site) MT_SLOW;
mt_span mt_enter_watched(mt_span s) MT_SLOW;
mt_span mt_enter_interval(mt_span s) MT_SLOW;
void mt_clock_ran_back(void) MT_SLOW;

// Opens a call from a site.
MT_INLINE mt_span mt_enter_from(unsigned call, uint64_t site)
{
    mt_span s;
    s.site = site;
    s.call = (uint16_t)call;
    s.outer = 0;
    s.thread = mt_self;
    if (mt_unlikely(!s.thread))
        s.thread = mt_enter_slow(s.site);
    s.slice = atomic_load_explicit(&mt_slice, memory_order_relaxed);
    if (mt_unlikely(s.slice == MT_PAUSED))
        s.thread = NULL;
    if (mt_unlikely(mt_lies_in(&mt_watched, s.site)))
        s = mt_enter_watched(s); // not by its address: the span stays in registers
    if (mt_likely(s.thread != NULL)) {
        s.outer = s.thread->inner;
        s.thread->inner = 0;
    }
    s.start = mt_ticks();
    if (mt_unlikely(s.start >= mt_load(&mt_slice_until)))
        s = mt_enter_interval(s);
    return s;
}

// In a wrapper: its own return address, which is the call site.
#define MT_SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))

// Opens a call, inlined into its wrapper; a call that nobody makes in a loop
// need not be (hundreds of copies take seconds to compile).
#define mt_enter(call) mt_enter_from(call, MT_SITE)
#define mt_enter_rare(call) mt_enter_rarely(call, MT_SITE)
mt_span mt_enter_rarely(unsigned call, uint64_t site);

// Closes a call: its ticks, less those of the calls that the program made
// inside it from callbacks. (A longjmp out of a callback leaves `inner`
// behind; the next call to open sets it aside.)
MT_INLINE uint64_t mt_close(mt_span *s)
{
    uint64_t now = mt_ticks(), whole = now - s->start;
    __atomic_store_n(&s->thread->record->last, now, __ATOMIC_RELAXED); // how far the process came, if it is killed
    if (mt_unlikely((int64_t)whole < 0)) {
        mt_clock_ran_back();
        whole = 0;
    }
    uint64_t inside = s->thread->inner;
    s->thread->inner = s->outer + whole;
    return mt_likely(inside <= whole) ? whole - inside : 0;
}

MT_INLINE mt_key mt_span_key(const mt_span *s, unsigned direction, uint32_t comm, int32_t peer, uint64_t size)
{
    return mt_key_of(s->site, s->slice, s->call, direction, comm, peer, mt_size_class(size));
}

// A call that moves nothing, or that failed: time and nothing else.
MT_INLINE void mt_book_bare(mt_span *s)
{
    uint64_t ticks = mt_close(s);
    mt_book(s->thread, mt_span_key(s, MT_DIR_NONE, MT_COMM_NONE, MT_PEER_NONE, 0), 0, ticks);
}

#endif

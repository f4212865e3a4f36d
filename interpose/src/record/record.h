// Layer 3, record: rows, threads, slices, samples, events, and the modules and stacks
// of call sites. It does not know MPI handles. It calls base/ and file/.
//
// The fact table has one row of 64 bytes for each distinct key. It is an
// open-addressing hash table that lies in the recording and belongs to one thread.
//
// The fast path is a hash of the key, one comparison of three words, three to five
// stores, all in one cache line, and one store of the time to the thread's record.
// Invariants: A table has one writer. The key of a row is complete before `what` is
// stored. The bytes of a call are stored before `count`, and so is its time unless
// calls are timed by samples. A table is never more than half full of ordinary rows, so
// that most rows are in their home slots.
#ifndef MT_RECORD_H
#define MT_RECORD_H

#include "base/clock.h"
#include "record/row.h"
#include "record/thread.h"

// The home slot of a row is given by the bits of the hash from bit 44 up. Shifted right
// by MT_HASH_SHIFT they are the row's offset in its table in bytes. A table has at most
// MT_ROW_LIMIT rows.
enum { MT_HASH_SHIFT = 38, MT_ROW_LIMIT = 1 << 20 };
_Static_assert(sizeof(mt_row) == 1 << (44 - MT_HASH_SHIFT), "a shifted hash must be a whole number of rows");

MT_INLINE mt_row *mt_row_home(const mt_thread *t, mt_key k)
{
    return (mt_row *)((char *)t->rows + (mt_hash(k) >> MT_HASH_SHIFT & t->mask));
}

// Finds or makes a row, from its home slot on. Never returns NULL: a call for which
// there is no room is counted in Header.folded_calls and booked in an overflow row, without
// site, slice and peer (if the table is nearly full also without communicator).
mt_row *mt_row_find(mt_thread *t, mt_row *home, uint64_t site, uint64_t place, uint64_t what) MT_NOINLINE;

MT_INLINE mt_row *mt_row_of(mt_thread *t, mt_key k)
{
    mt_row *row = mt_row_home(t, k);
    if (mt_row_is(row, k.site, k.place, k.what))
        return row;
    return mt_row_find(t, row, k.site, k.place, k.what);
}

// Books messages whose time is in the row of another call. Returns the row of the
// messages.
MT_INLINE mt_row *mt_book_untimed(mt_thread *t, mt_key k, uint64_t bytes)
{
    mt_row *row = mt_row_of(t, k);
    mt_add(&row->bytes, bytes);
    mt_add(&row->count, 1);
    return row;
}

// The return address of a wrapper, which is the call site. To be used in the wrapper
// and in functions that are inlined into it.
#define MT_SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))
// The frame address of the wrapper: where its stack frame adjoins that of its caller.
#define MT_FRAME ((uint64_t)(uintptr_t)__builtin_dwarf_cfa())

// Opens a call (call.c).
mt_span mt_enter_from(unsigned call, uint64_t site, uint64_t frame);
#define mt_enter(call) mt_enter_from(call, MT_SITE, MT_FRAME)

// Returns the ticks that a call took, without the ticks of the calls that callbacks made
// during it, which were added to `spent`. Stores the time of return in
// `last`, so that the recording of a killed process shows how far it came.
MT_INLINE uint64_t mt_spend(mt_current_call *o, uint64_t now, uint64_t start)
{
    uint64_t own = now - start;
    __asm__("" : "+r"(own)); // two subtractions: the sum start + spent would take another register
    own -= o->spent;
    mt_write(&o->last, now);
    mt_add(&o->spent, own);
    return own;
}

// Closes a call: takes its time.
void mt_close(mt_span *s);

// Books a call that is closed, timed or not. After this the thread is not in the call
// any more.
void mt_book(mt_span *s, mt_key k, uint64_t bytes);

MT_INLINE mt_key mt_span_key(const mt_span *s, unsigned direction, uint32_t comm, int32_t peer, uint64_t size)
{
    return mt_key_of(s->site, s->slice, s->call, direction, comm, peer, mt_size_class(size));
}

// Closes and books a call that moves no data, or that failed: count and time only.
void mt_book_bare(mt_span *s);

#endif

// Layer 3, record: rows, threads, slices, samples, events, and the modules and stacks
// that call sites lie in. It knows no MPI handle. It calls base/ and file/.
//
// The fact table: one row of 64 bytes for each distinct key, in an open hash
// table that the thread owns and that lies in the recording.
//
// The fast path is a hash of the key, one compare of three words and three to
// five stores, all in one cache line, and one store of the time to the thread's
// record. Invariants: one writer a table; a row's key is complete before `what`
// is stored, its bytes before `count`, and its time too unless calls are timed by
// samples; a table is never more than half full of ordinary rows, so that most
// are at home.
#ifndef MT_RECORD_H
#define MT_RECORD_H

#include "base/clock.h"
#include "record/row.h"
#include "record/thread.h"

// Where in its table a row belongs, in bytes: bits of the hash that reach from
// its 44th up to MT_ROW_LIMIT rows.
enum { MT_HASH_SHIFT = 38, MT_ROW_LIMIT = 1 << 20 };
_Static_assert(sizeof(mt_row) == 1 << (44 - MT_HASH_SHIFT), "an offset is a whole number of rows");

MT_INLINE mt_row *mt_row_home(const mt_thread *t, mt_key k)
{
    return (mt_row *)((char *)t->rows + (mt_hash(k) >> MT_HASH_SHIFT & t->mask));
}

// Finds or makes the row, from its home on. Never NULL: what has no room is
// folded into a row without site, slice and peer (in the end also without
// communicator), and counted.
mt_row *mt_row_find(mt_thread *t, mt_row *home, uint64_t site, uint64_t place, uint64_t what) MT_APART;

MT_INLINE mt_row *mt_row_of(mt_thread *t, mt_key k)
{
    mt_row *row = mt_row_home(t, k);
    if (mt_row_is(row, k.site, k.place, k.what))
        return row;
    return mt_row_find(t, row, k.site, k.place, k.what);
}

// Books messages that another call's time pays for; the row that they are in.
MT_INLINE mt_row *mt_book_untimed(mt_thread *t, mt_key k, uint64_t bytes)
{
    mt_row *row = mt_row_of(t, k);
    mt_add(&row->bytes, bytes);
    mt_add(&row->count, 1);
    return row;
}

// In a wrapper, and in what is inlined into it: the wrapper's return address,
// which is the call site.
#define MT_SITE ((uint64_t)(uintptr_t)__builtin_return_address(0))
// And where its stack is, next to what called it.
#define MT_FRAME ((uint64_t)(uintptr_t)__builtin_dwarf_cfa())

// Opens a call: enter.c.
mt_span mt_enter_from(unsigned call, uint64_t site, uint64_t frame);
#define mt_enter(call) mt_enter_from(call, MT_SITE, MT_FRAME)

// Ticks that a call took, less those of the calls that the program made inside
// it from callbacks: they were spent already. `last` tells how far the process
// came, if it is killed.
MT_INLINE uint64_t mt_spend(mt_current_call *o, uint64_t now, uint64_t start)
{
    uint64_t own = now - start;
    __asm__("" : "+r"(own)); // one after the other: their sum would be one more to keep
    own -= o->spent;
    mt_write(&o->last, now);
    mt_add(&o->spent, own);
    return own;
}

// Closes a call.
void mt_close(mt_span *s);

// Books a call that is closed, and was timed or not. From here on the thread is
// not in it.
void mt_book(mt_span *s, mt_key k, uint64_t bytes);

MT_INLINE mt_key mt_span_key(const mt_span *s, unsigned direction, uint32_t comm, int32_t peer, uint64_t size)
{
    return mt_key_of(s->site, s->slice, s->call, direction, comm, peer, mt_size_class(size));
}

// A call that moves nothing, or that failed: time and nothing else.
void mt_book_bare(mt_span *s);

#endif

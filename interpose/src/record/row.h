// A row of the fact table: its key, and the time that is booked in it.
#ifndef MT_ROW_H
#define MT_ROW_H

#include "base/base.h"

// A row. `site` is the call site, `place` the communicator and the peer, and `what` the
// slice, call, direction and size class (see mt_key_of). One thread writes the row, and
// may read it in any way. Other threads read single words.
typedef struct mt_row {
    uint64_t site, place, what, count, bytes, time, min, max;
} mt_row;
_Static_assert(sizeof(mt_row) == sizeof(mt_l_row), "a row must have the layout of mt_l_row");

typedef struct mt_key {
    uint64_t site, place, what;
} mt_key;

// Returns the key of a row. The peer and the size class are those of one message.
MT_INLINE mt_key mt_key_of(uint64_t site, uint32_t slice, unsigned call, unsigned direction, uint32_t comm,
                           int32_t peer, unsigned size_class)
{
    return (mt_key){site, comm | (uint64_t)(uint32_t)peer << 32,
                    slice | (uint64_t)call << 32 | (uint64_t)direction << 48 | (uint64_t)size_class << 56};
}

// Returns the size class: 0 for an empty message, k + 1 for 2^k to below 2^(k+1) bytes.
// (No message has 2^63 bytes.)
MT_INLINE unsigned mt_size_class(uint64_t bytes)
{
    return 63u - (unsigned)__builtin_clzll(2 * bytes + 1);
}

// Returns the hash of a key, with one multiplication. A bit of a product depends only
// on the bits of the factors at its position and below. The rows of one site differ in
// peer, size class and slice. So `what` is rotated, which brings the size class, its
// highest byte, down to where it affects the bits that choose a row.
MT_INLINE uint64_t mt_hash(mt_key k)
{
    return (k.site ^ k.place ^ (k.what << 16 | k.what >> 48)) * 0x9e3779b97f4a7c15u;
}

// Reports whether a row has this key.
MT_INLINE bool mt_row_is(const mt_row *row, uint64_t site, uint64_t place, uint64_t what)
{
    return mt_likely(row->what == what) && mt_likely(row->place == place) && mt_likely(row->site == site);
}

// Stores a new longest time of a row. If the ticks are negative as a signed number, the
// clock ran backwards: takes them out of the row's time again, and counts that.
void mt_row_longest(mt_row *row, uint64_t ticks) MT_SLOW;

// Adds the ticks of a call to the time of a row.
MT_INLINE void mt_row_time(mt_row *row, uint64_t ticks)
{
    mt_add(&row->time, ticks);
    if (mt_unlikely(ticks < row->min))
        mt_write(&row->min, ticks);
    if (mt_unlikely(ticks > row->max))
        mt_row_longest(row, ticks);
}

#endif

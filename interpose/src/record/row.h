// A row of the fact table: its key, and the time that is booked in it.
#ifndef MT_ROW_H
#define MT_ROW_H

#include "base/base.h"

// A row. One thread writes it, and may read it as it likes; others read words.
typedef struct mt_row {
    uint64_t site, place, what, count, bytes, time, min, max;
} mt_row;
_Static_assert(sizeof(mt_row) == sizeof(mt_l_row), "a row is a cache line");

typedef struct mt_key {
    uint64_t site, place, what;
} mt_key;

// What a row is about. peer and size class are of one message.
MT_INLINE mt_key mt_key_of(uint64_t site, uint32_t slice, unsigned call, unsigned direction, uint32_t comm,
                           int32_t peer, unsigned size_class)
{
    return (mt_key){site, comm | (uint64_t)(uint32_t)peer << 32,
                    slice | (uint64_t)call << 32 | (uint64_t)direction << 48 | (uint64_t)size_class << 56};
}

// 0 for an empty message, k + 1 for 2^k bytes and more. (No message has 2^63.)
MT_INLINE unsigned mt_size_class(uint64_t bytes)
{
    return 63u - (unsigned)__builtin_clzll(2 * bytes + 1);
}

// One multiplication. Its upper half depends on all that rows of one table tell
// apart, so that is brought down to where it counts: the rows of one site differ
// in peer, size class and slice.
MT_INLINE uint64_t mt_hash(mt_key k)
{
    return (k.site ^ k.place ^ (k.what << 16 | k.what >> 48)) * 0x9e3779b97f4a7c15u;
}

MT_INLINE bool mt_row_is(const mt_row *row, uint64_t site, uint64_t place, uint64_t what)
{
    return mt_likely(row->what == what) && mt_likely(row->place == place) && mt_likely(row->site == site);
}

// The longest call of a row so far; or the clock ran back, which looks the same.
void mt_row_longest(mt_row *row, uint64_t ticks) MT_SLOW;

// Books ticks in a row.
MT_INLINE void mt_row_time(mt_row *row, uint64_t ticks)
{
    mt_add(&row->time, ticks);
    if (mt_unlikely(ticks < row->min))
        mt_write(&row->min, ticks);
    if (mt_unlikely(ticks > row->max))
        mt_row_longest(row, ticks);
}

#endif

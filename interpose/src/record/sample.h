// Timing by samples (--timing sampled): every count and every byte stays exact,
// and the clock is read for some of the calls only.
//
// A row's first MT_EARLY_CALLS timed calls decide how many of its later ones
// are timed: as many as keep the clock's own time small beside the calls' time,
// so that calls which take long are all timed, and those that differ much too.
// When a call begins its row is not known, only its site: a site times as many
// of its calls as the most demanding of its rows asks for. The gaps are random,
// so that no pattern of the program falls in step with them, and they never
// depend on how long a call takes: the timed calls of a row speak for the others.
#ifndef MT_SAMPLE_H
#define MT_SAMPLE_H

#include "record/record.h"

// Reads the settings timing and receives into the recording's header; before the
// first table is made.
void mt_sample_open(void);

// Whether a text is a value of the setting timing.
bool mt_sample_is_timing(const char *text);

// A table's samples lie behind its rows.
MT_INLINE mt_l_sample *mt_sample_of(const mt_thread *t, const mt_row *row)
{
    return (mt_l_sample *)((char *)row + t->mask + sizeof(mt_row));
}
_Static_assert(sizeof(mt_l_sample) == sizeof(mt_row), "a sample is found by its row's place");

// For the test of the estimates (-DMT_CHECK_SAMPLES): all calls are timed, the
// samples go into the rows as ever, and what all of them took is told at the end.
#ifdef MT_CHECK_SAMPLES
enum { MT_CHECKING = true };
#else
enum { MT_CHECKING = false };
#endif
void mt_sample_tell(void);

// Bytes of a table of so many rows.
uint64_t mt_sample_table_size(uint64_t rows);

MT_INLINE mt_pace *mt_sample_pace(const mt_thread *t, uint64_t site)
{
    return &t->paces[site * 0x9e3779b97f4a7c15u >> 56];
}
_Static_assert(MT_PACES == 1 << 8, "the upper 8 bits of a hash are a pace");

// Whether the call that begins is to be timed.
MT_INLINE bool mt_sample_turn(mt_pace *p)
{
    if (p->left == 0)
        return true;
    p->left--;
    return false;
}

// The row met in a call that was not timed asks for more than its site gives.
void mt_sample_hasten(mt_pace *p, uint32_t wanted) MT_SLOW;

void mt_sample_timed(mt_thread *t, mt_pace *p, mt_row *row, uint64_t ticks) MT_APART;

// Books the time of a call in its row, if it was timed, after its count.
MT_INLINE void mt_sample_book(mt_thread *t, mt_pace *p, mt_row *row, bool timed, uint64_t ticks)
{
    if (mt_unlikely(row == &t->spare))
        return;
    if (timed) {
        mt_sample_timed(t, p, row, ticks);
        return;
    }
    uint32_t wanted = mt_sample_of(t, row)->every; // 0: it is one of the early calls
    if (mt_unlikely(wanted < p->every))
        mt_sample_hasten(p, wanted);
}

#endif

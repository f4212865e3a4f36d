// Timing by samples (--timing sampled): all counts and bytes stay exact, and the clock
// is read for some of the calls only.
//
// A row's first MT_EARLY_CALLS timed calls decide how many of its later calls are
// timed: as many as keep the time for reading the clock small beside the calls' time.
// So calls that take long, or whose durations vary much, are all timed. When a call
// begins, its site is known but not its row: a site times as many of its calls as the
// most demanding of its rows needs. The gaps between timed calls are random, so that
// they do not follow a pattern of the program. They never depend on how long a call
// takes, so the timed calls of a row represent the others.
#ifndef MT_SAMPLE_H
#define MT_SAMPLE_H

#include "record/record.h"

// Reads the settings timing and receives into the recording's header. Called before the
// first table is made.
void mt_sample_open(void);

// Reports whether a text is a value of the setting timing.
bool mt_sample_is_setting(const char *text);

// Returns the sample of a row. The samples of a table follow its rows.
MT_INLINE mt_l_sample *mt_sample_of(const mt_thread *t, const mt_row *row)
{
    return (mt_l_sample *)((char *)row + t->mask + sizeof(mt_row));
}
_Static_assert(sizeof(mt_l_sample) == sizeof(mt_row), "a sample must have the size of its row");

// For the test of the estimates (-DMT_CHECK_SAMPLES): all calls are timed, the rows
// have samples as usual, and the total time of all calls is logged at the end.
#ifdef MT_CHECK_SAMPLES
enum { MT_CHECKING = true };
#else
enum { MT_CHECKING = false };
#endif
void mt_sample_log_total(void);

// Returns the number of bytes of a table of `rows` rows, with their samples if calls
// are sampled.
uint64_t mt_sample_table_size(uint64_t rows);

// Returns the pace of a site. Sites with the same hash share one.
MT_INLINE mt_pace *mt_sample_pace(const mt_thread *t, uint64_t site)
{
    return &t->paces[site * 0x9e3779b97f4a7c15u >> 56];
}
_Static_assert(MT_PACES == 1 << 8, "the upper 8 bits of a hash are the index of a pace");

// Reports whether the call that begins is to be timed. If not, counts down to the next
// timed call.
MT_INLINE bool mt_sample_is_due(mt_pace *p)
{
    if (p->left == 0)
        return true;
    p->left--;
    return false;
}

// Called after an untimed call whose row needs more timed calls than its site has.
void mt_sample_raise_rate(mt_pace *p, uint32_t wanted) MT_SLOW;

void mt_sample_timed(mt_thread *t, mt_pace *p, mt_row *row, uint64_t ticks) MT_NOINLINE;

// Books the time of a call in its row, if it was timed. Called after the call was
// counted there.
MT_INLINE void mt_sample_book(mt_thread *t, mt_pace *p, mt_row *row, bool timed, uint64_t ticks)
{
    if (mt_unlikely(row == &t->spare))
        return;
    if (timed) {
        mt_sample_timed(t, p, row, ticks);
        return;
    }
    uint32_t wanted = mt_sample_of(t, row)->every; // 0 during the early calls
    if (mt_unlikely(wanted < p->every))
        mt_sample_raise_rate(p, wanted);
}

#endif

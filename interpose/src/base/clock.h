// The clock of all times in a recording: the CPU's invariant time stamp counter (7 to
// 20 ns per read), else CLOCK_MONOTONIC.
#ifndef MT_CLOCK_H
#define MT_CLOCK_H

#include "base/base.h"

#include <time.h>

// Chooses the clock. Called before anything else.
void mt_clock_open(void);

// Reads all clocks together. A reader converts ticks to ns by such readings.
mt_l_clock mt_clock_read_all(void);

// Returns the time of a clock in ns.
uint64_t mt_clock_ns(clockid_t clock);

// Parses a time as settings have it: a whole number of ms or s, 100ms or 2s. Returns
// ns, or 0 for any other text.
uint64_t mt_clock_parse(const char *text);

// Returns how many whole periods of `length` ns have passed since `zero`. Sets `next`
// to the ticks at which the current period ends.
uint64_t mt_clock_periods(const mt_l_clock *zero, uint64_t length, uint64_t *next);

// Reads the CPU's own clock, which is used if it can be trusted.
MT_INLINE uint64_t mt_cpu_ticks(void)
{
#if defined(__x86_64__)
    // No fence: without one the CPU may shift the read by a few ns, but a fence costs
    // more.
    return __builtin_ia32_rdtsc(); // including x86intrin.h would add 0.4 s to the compilation of each file
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0; // never used: see mt_clock_open
#endif
}

MT_INLINE uint64_t mt_ticks(void)
{
    return mt_likely(mt_process.clock_kind != MT_CLOCK_MONOTONIC) ? mt_cpu_ticks() : mt_clock_ns(CLOCK_MONOTONIC);
}

#endif

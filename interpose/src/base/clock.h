// The clock of every time in a recording: the invariant time stamp counter
// (7 to 20 ns a read), else CLOCK_MONOTONIC.
#ifndef MT_CLOCK_H
#define MT_CLOCK_H

#include "base/base.h"

#include <time.h>

// Chooses the clock; the first thing that is done.
void mt_clock_open(void);

// Reads all clocks together: the pair lets a reader turn ticks into ns.
mt_l_clock mt_clock_all(void);

uint64_t mt_clock_ns(clockid_t clock);

// A time as settings have it, whole ms or s: 100ms, 2s. In ns; 0 for anything else.
uint64_t mt_clock_length(const char *text);

// What is done each `length` ns from `zero` on: how often it was up to now, and at
// how many ticks it is the next time.
uint64_t mt_clock_passed(const mt_l_clock *zero, uint64_t length, uint64_t *next);

// The CPU's own clock, where it can be trusted.
MT_INLINE uint64_t mt_cpu_ticks(void)
{
#if defined(__x86_64__)
    // No fence: the CPU may move the read by some ns, a fence costs more.
    return __builtin_ia32_rdtsc(); // x86intrin.h would cost the build 0.4 s a file
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0; // it never can: see mt_clock_open
#endif
}

MT_INLINE uint64_t mt_ticks(void)
{
    return mt_likely(mt_process.clock_kind != MT_CLOCK_MONOTONIC) ? mt_cpu_ticks() : mt_clock_ns(CLOCK_MONOTONIC);
}

#endif

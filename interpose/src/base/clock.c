#define _GNU_SOURCE
#include "base/clock.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif


// Reads a clock with a system call. libc's clock_gettime may be that of a preloaded
// library that changes the time that the program sees (libfaketime).
static int clock_gettime_syscall(clockid_t clock, struct timespec *t)
{
    return (int)syscall(SYS_clock_gettime, clock, t);
}

static int (*read_clock)(clockid_t, struct timespec *) = clock_gettime_syscall;

// Finds the kernel's clock_gettime in the memory of the process (vDSO), which saves the
// system call. Its name depends on the architecture.
static void find_vdso(void)
{
    void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *found = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
    if (vdso && !found)
        found = dlsym(vdso, "__kernel_clock_gettime");
    if (found)
        *(void **)&read_clock = found;
}

uint64_t mt_clock_ns(clockid_t clock)
{
    struct timespec t = {0, 0};
    read_clock(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// The TSC can be trusted if the CPU reports that its rate is the same in all power
// states. (A hypervisor that migrates guests hides that bit.)
void mt_clock_open(void)
{
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)))
        mt_process.clock_kind = MT_CLOCK_TSC;
#elif defined(__aarch64__)
    mt_process.clock_kind = MT_CLOCK_CNTVCT;
#endif
    find_vdso();
    mt_flag_set(MT_FLAG_CLOCK, mt_process.clock_kind == MT_CLOCK_MONOTONIC);
}

mt_l_clock mt_clock_read_all(void)
{
    // Take the narrowest of four tries: the precision of this reading limits how
    // precisely readers know the rate of the ticks.
    mt_l_clock best = {0, 0, 0};
    uint64_t width = UINT64_MAX;
    for (int i = 0; i < 4; i++) {
        mt_l_clock now;
        uint64_t before = mt_ticks();
        now.monotonic = mt_clock_ns(CLOCK_MONOTONIC);
        uint64_t after = mt_ticks();
        now.ticks = before + (after - before) / 2;
        now.realtime = mt_clock_ns(CLOCK_REALTIME);
        if (after - before < width) {
            width = after - before;
            best = now;
        }
    }
    return best;
}

uint64_t mt_clock_parse(const char *text)
{
    char *unit;
    uint64_t n = *text >= '0' && *text <= '9' ? strtoull(text, &unit, 10) : 0;
    if (n == 0 || n > 1000000000)
        return 0;
    return strcmp(unit, "ms") == 0 ? n * 1000000 : strcmp(unit, "s") == 0 ? n * 1000000000 : 0;
}

// Computes `next` from the average rate of the ticks since the start of the recording.
// If that turns out to be too early, the caller computes it again.
uint64_t mt_clock_periods(const mt_l_clock *zero, uint64_t length, uint64_t *next)
{
    const mt_l_clock now = mt_clock_read_all(), *start = &mt_process.header->start;
    uint64_t elapsed = now.monotonic - zero->monotonic, left = length - elapsed % length;
    double rate = (double)(now.ticks - start->ticks) / (double)(now.monotonic - start->monotonic + 1);
    *next = now.ticks + (uint64_t)((double)left * rate) + 1;
    return elapsed / length;
}

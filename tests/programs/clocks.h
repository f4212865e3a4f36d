/* Faulty clocks for the library (-include), one for each macro below. Without a
 * macro, the clocks are unchanged. */
#define _GNU_SOURCE /* as in the library's sources */
#if defined(BOOT_OF_ANOTHER_HOST)
/* Each process is under another kernel, by the id of its boot. */
#include <fcntl.h>
#include <string.h>
static inline const char *boot_file(const char *path)
{
    return strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ? "/proc/sys/kernel/random/uuid" : path;
}
#define open(path, ...) open(boot_file(path), __VA_ARGS__)
#endif
#if defined(CLOCK_OF_ANOTHER_CPU)
/* cpuid does not report a constant rate of the time stamp counter. */
#include <cpuid.h>
#define __get_cpuid(leaf, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d), 0)
#elif defined(CLOCK_THAT_JUMPS)
/* Each 1000th reading is 2^63 ticks behind, as after a reset. */
static inline unsigned long long jumping_ticks(void)
{
    static unsigned n;
    unsigned lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    unsigned long long now = (unsigned long long)hi << 32 | lo;
    return __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) % 1000 ? now : now - (1ull << 63);
}
#define __builtin_ia32_rdtsc jumping_ticks
#elif defined(CLOCK_OF_ANOTHER_HOST)
/* The system's clocks run 20 ppm too fast, and the time of day is 5 ms ahead. */
#include <time.h>
static inline int fast_clock(clockid_t clock, struct timespec *t)
{
    static long long first[2]; /* set when the library is loaded */
    int wall = clock == CLOCK_REALTIME, rc = clock_gettime(clock, t);
    long long now = t->tv_sec * 1000000000ll + t->tv_nsec;
    if (first[wall] == 0)
        first[wall] = now;
    now += (now - first[wall]) / 50000 + (wall ? 5000000 : 0);
    t->tv_sec = now / 1000000000;
    t->tv_nsec = now % 1000000000;
    return rc;
}
#define read_clock(clock, t) fast_clock(clock, t)
#endif

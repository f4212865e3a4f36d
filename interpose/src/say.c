#include "mt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// A process says little, whatever goes wrong in it.
enum { MT_SAY_LIMIT = 8 };

void mt_say(const char *format, ...)
{
    static _Atomic int said;
    if (getenv("MPITRACE_QUIET") || atomic_fetch_add(&said, 1) >= MT_SAY_LIMIT)
        return;
    int saved = errno;
    char line[1024] = "mpitrace: ";
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + 10, sizeof line - 12, format, args);
    va_end(args);
    if (n < 0)
        n = 0;
    n = n > (int)sizeof line - 12 ? (int)sizeof line - 2 : n + 10;
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0) { /* nobody to tell */ }
    errno = saved;
}

void mt_lost(uint64_t *counter, uint64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

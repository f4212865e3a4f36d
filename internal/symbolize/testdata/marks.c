/* Calls in a global function, a static one, an inlined one, and in the middle
 * of a statement. With LIBRARY, all but main. */
#include "mark.h"

static inline __attribute__((always_inline)) void inlined(void)
{
    MARK();
}

static __attribute__((noinline)) void hidden(void)
{
    inlined();
    MARK();
}

__attribute__((noinline)) void shown(void)
{
    MARK();
    hidden();
    for (volatile int i = 0; i < 2; i++)
        if (i)
            MARK();
}

#ifndef LIBRARY
int main(void)
{
    MARK();
#ifdef CALL_LIBRARY
    extern void from_library(void);
    from_library();
#endif
    shown();
    return 0;
}
#else
void from_library(void)
{
    shown();
    MARK();
}
#endif

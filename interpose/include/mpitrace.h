/* mpitrace.h: what a program tells mpitrace. C and C++.
 *
 *     mpitrace_phase("solve");
 *
 * Calls of MPI that begin from here on are recorded under "solve": in the
 * summary, and in the column `slice` of profile.arrow. A run begins in "run".
 * Coming back to a name is coming back to its slice. A phase is the process's,
 * not the thread's, and there is none before MPI_Init and after MPI_Finalize.
 * While MPI_Pcontrol(0) has recording stopped it stays stopped: the phase holds
 * from MPI_Pcontrol(1) on. 200 bytes of a name count, and 16,000 names.
 *
 * There is nothing to link and nothing to initialize: without mpitrace the call
 * does nothing, in any program or library.
 *
 * Fortran has no weak symbols. Give it a C file of two lines, and an interface:
 *
 *     #include <mpitrace.h>
 *     void phase(const char *name) { mpitrace_phase(name); }
 *
 *     interface
 *        subroutine phase(name) bind(C)
 *           use iso_c_binding, only: c_char
 *           character(kind=c_char), intent(in) :: name(*)
 *        end subroutine
 *     end interface
 *     call phase("solve" // c_null_char)
 */
#ifndef MPITRACE_H
#define MPITRACE_H

/* The preloaded library's function, or NULL. Its address is taken from the
 * global offset table: a linker takes a weak symbol's address in a program that
 * is not position-independent to be 0 for good. */
#if defined(__x86_64__) && defined(__LP64__) && defined(__linux__)
#define MPITRACE_FIND_(function, found) \
    __asm__(".weak " function "\n\tmovq " function "@GOTPCREL(%%rip), %0" : "=r"(found))
#elif defined(__aarch64__) && defined(__linux__)
#define MPITRACE_FIND_(function, found) \
    __asm__(".weak " function "\n\tadrp %0, :got:" function "\n\t" \
            "ldr %0, [%0, :got_lo12:" function "]" : "=r"(found))
#else
#define MPITRACE_FIND_(function, found) ((void)0)
#endif

static __inline__ void mpitrace_phase(const char *name)
{
    void (*begin)(const char *) = 0;
    MPITRACE_FIND_("mpitrace_begin_phase", begin);
    if (begin)
        begin(name);
}

/* Sets one of mpitrace's settings for this process; nothing is stronger than
 * this. 0, or -1 if it is refused, and that is so in any program that is not
 * recorded.
 *
 *     mpitrace_set("interval", "100ms");
 *
 * "interval" can be set at any time, and holds from here on: the run is cut at
 * each multiple of it since MPI_Init, or not at all if it is "off". "timing"
 * can be set before MPI_Init. All ranks should set the same. */
static __inline__ int mpitrace_set(const char *setting, const char *value)
{
    int (*change)(const char *, const char *) = 0;
    MPITRACE_FIND_("mpitrace_change_setting", change);
    return change ? change(setting, value) : -1;
}

#endif

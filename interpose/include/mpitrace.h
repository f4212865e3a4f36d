/* mpitrace.h: functions by which a program controls mpitrace. C and C++.
 *
 *     mpitrace_phase("solve");
 *
 * begins the phase "solve": later MPI calls are recorded in the slice of that
 * name, which the summary and the column `slice` of profile.arrow show. The
 * first slice is "run". If the name was used before, its slice continues. A
 * phase applies to all threads of the process. Before MPI_Init and after
 * MPI_Finalize the call does nothing. It does not resume a recording that
 * MPI_Pcontrol(0) has paused: the phase then begins with MPI_Pcontrol(1). Names
 * are truncated to 200 bytes. About 16,000 different names are recorded; calls
 * of all further ones are recorded together in one slice.
 *
 * You need not link a library or initialize anything. If the program is not
 * recorded, the call does nothing.
 *
 * Fortran has no weak symbols. Add a C file of two lines and an interface:
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

/* Sets found to the address of the preloaded library's function, or leaves it
 * NULL. It reads the address from the global offset table, because linkers
 * resolve a weak symbol to 0 in programs that are not position-independent. */
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

/* Sets one of mpitrace's settings for this process. This overrides all other
 * sources of its value. Returns 0, or -1 if the value is refused or the program
 * is not recorded.
 *
 *     mpitrace_set("interval", "100ms");
 *
 * "interval" can be set at any time. From then on a slice ends at each multiple
 * of this time since MPI_Init; "off" ends this. "timing" can be set only before
 * MPI_Init. All ranks should set the same values. */
static __inline__ int mpitrace_set(const char *setting, const char *value)
{
    int (*change)(const char *, const char *) = 0;
    MPITRACE_FIND_("mpitrace_change_setting", change);
    return change ? change(setting, value) : -1;
}

#endif

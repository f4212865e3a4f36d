/* mpitrace.h: functions by which a program controls mpitrace. C and C++.
 *
 *     mpitrace_phase("solve");
 *
 * begins the phase "solve": later MPI calls are recorded in the slice of that
 * name, which the summary and the column `slice` of profile.arrow show. The
 * first slice is "run". A name that was used before continues its slice. A
 * phase applies to all threads of the process. Before MPI_Init and after
 * MPI_Finalize the call does nothing. While MPI_Pcontrol(0) pauses recording it
 * stays paused; the phase then begins with MPI_Pcontrol(1). Names are cut to
 * 200 bytes, and at most 16,000 are distinguished.
 *
 * No library has to be linked and nothing has to be initialized. If the program
 * is not recorded, the call does nothing.
 *
 * Fortran has no weak symbols. Add a C file of two lines, and an interface:
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
 * NULL. The address is read from the global offset table, because in programs
 * that are not position-independent linkers resolve a weak symbol to 0. */
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

/* Sets one of mpitrace's settings for this process, and overrides all other
 * sources of its value. Returns 0, or -1 if the value is refused or the program
 * is not recorded.
 *
 *     mpitrace_set("interval", "100ms");
 *
 * "interval" can be set at any time: from then on a slice ends at each multiple
 * of this time since MPI_Init, or never if it is "off". "timing" can be set
 * before MPI_Init only. All ranks should set the same values. */
static __inline__ int mpitrace_set(const char *setting, const char *value)
{
    int (*change)(const char *, const char *) = 0;
    MPITRACE_FIND_("mpitrace_change_setting", change);
    return change ? change(setting, value) : -1;
}

#endif

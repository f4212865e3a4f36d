// Calls from Fortran. MPI's Fortran bindings are layers over C: mpi_send_ converts its
// arguments and calls MPI_Send or PMPI_Send. So the C wrapper can record the call, with all
// arguments that it can read, if it knows that the program made the call and from where.
// For this purpose the library also defines the symbols of the Fortran bindings (listed in
// gen/thunks_gen.c, written in thunks.h). Each of these thunks notes the call and its site,
// and jumps to the MPI's own binding with every argument unchanged. Nothing is converted
// here, so the library needs no knowledge of a binding (mpif.h, mpi, mpi_f08), of
// descriptors, hidden lengths, logicals or sentinels.
//
// The library also defines PMPI_Send, since some layers call that: it is the wrapper for
// the Fortran layer, and the MPI's own function for all other callers. The order of a call
// is: our mpi_send_ (notes it), the MPI's mpi_send_, MPI_Send (perhaps through our
// PMPI_Send), which takes the note (mt_fortran_take).
#ifndef MT_FORTRAN_H
#define MT_FORTRAN_H

#include "base/base.h"
#include "base/hook.h"
#include "calls/state.h"

// The latest call from Fortran of this thread, until the C wrapper takes it.
typedef struct mt_fortran_call {
    uint64_t site; // return address in the program
    uint32_t call; // call id in the low half, index in mt_thunk_targets in the high half; 0 once taken
} mt_fortran_call;

extern MT_THREAD_LOCAL mt_fortran_call mt_fortran_noted;

// Reports whether this is the call that was noted. If so, sets the site to that in the
// program, and clears the note.
MT_INLINE bool mt_fortran_take(unsigned call, uint64_t *site)
{
    mt_fortran_call *noted = &mt_fortran_noted;
    if ((uint16_t)noted->call != call)
        return false;
    *site = noted->site;
    noted->call = 0;
    return true;
}

// The names of the calls that have thunks (MPI_Send), by number: names_gen.c.
extern MT_HIDDEN const char *const mt_thunk_names[];

// A jump table of the MPI's own functions, for the thunks. Written by fortran.c, when a thunk
// needs a function for the first time.
extern MT_HIDDEN void *mt_thunk_targets[];

// Hook: PMPI_Finalize was called, either by another tool that our MPI_Finalize called, or
// by a tool that intercepts MPI_Finalize before us. In the second case the recording ends.
typedef int mt_hook_finalize_passed_on(void);
MT_HOOK(finalize_passed_on);

// Looks up the function of mt_thunk_targets[index] when a thunk first needs it. `caller` is the
// address that called the thunk.
void *mt_thunk_find_target(uint32_t index, uint64_t caller);

// Forgets the functions of an MPI that was unloaded.
void mt_fortran_forget(void);

// Counts a noted call that did not reach C before the thread's next call from Fortran, or
// before its end. Such a call has no time.
void mt_fortran_missed(void);

#endif

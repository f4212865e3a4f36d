// Fortran. MPI's Fortran bindings are layers over C: mpi_send_ converts its
// arguments and calls MPI_Send or PMPI_Send. So the C wrapper can book the call,
// with all that it knows how to read, if it is told that the call is the
// program's and from where: the names of the Fortran bindings are ours too
// (thunks_gen.c), and each only notes who called what and jumps to the MPI's
// own, with every argument as it was. Nothing is converted here, so that no
// binding (mpif.h, mpi, mpi_f08), no descriptor, hidden length, logical or
// sentinel has to be understood.
//
// PMPI_Send is ours as well, for the layers that call it: it is the wrapper for
// the Fortran layer and the MPI's own function for everybody else.
#ifndef MT_FORTRAN_H
#define MT_FORTRAN_H

#include "base/base.h"
#include "base/hook.h"

// What this thread's latest call from Fortran was, until the C wrapper takes it.
typedef struct mt_noted {
    uint64_t site; // return address in the program
    uint32_t call; // id in the low half, index in mt_next in the high one; 0 when taken
} mt_noted;

extern MT_OURS _Thread_local mt_noted mt_noted_call __attribute__((tls_model("initial-exec")));

// The file that holds the MPI's Fortran layer: size 0 until a Fortran binding
// is called. What it calls without a note is for itself (datatypes for array
// sections, and the like).
extern MT_OURS mt_code_range mt_layer;

// All files of bindings, and what lies between them. Only calls from there are
// ever the call that was noted.
extern MT_OURS mt_code_range mt_bindings;

// True, with the site of the program, if this is the call that was noted.
MT_INLINE bool mt_fortran_take(unsigned call, uint64_t *site)
{
    mt_noted *noted = &mt_noted_call;
    if ((uint16_t)noted->call != call)
        return false;
    *site = noted->site;
    noted->call = 0;
    return true;
}

// The names that the thunks stand for, MPI_Send, by their number: names_gen.c.
extern MT_OURS const char *const mt_next_names[];

// The MPI's own functions that the thunks jump to.
extern MT_OURS void *mt_next[];

// PMPI_Finalize was called: by another tool that is called by our MPI_Finalize, or
// by one that intercepts MPI_Finalize before us. Then it ends the recording.
typedef int mt_hook_finalize_passed_on(void);
MT_HOOK(finalize_passed_on);

// Looks up one of mt_next, for the thunks; `caller` is who called them.
void *mt_next_find(uint32_t index, uint64_t caller);

// The MPI was unloaded: forgets its functions.
void mt_fortran_forget(void);

// A call from Fortran did not reach C before the next one, or before the end: it
// is counted, but nobody timed it.
void mt_fortran_missed(void);

#endif

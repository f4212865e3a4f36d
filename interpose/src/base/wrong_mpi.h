// Passes all calls on unrecorded if the MPI is not the one that this library was built
// for.
#ifndef MT_WRONG_MPI_H
#define MT_WRONG_MPI_H

#include "base/hook.h"

// Called once, if the program is not recorded because it uses the MPI in the file
// `mpi`.
typedef void mt_hook_wrong_mpi(const char *mpi);
MT_HOOK(wrong_mpi);

// Returns the starts of our wrappers, in an array that the caller frees. It must not be
// called under a lock, because it looks them up in the dynamic linker.
typedef struct mt_wrapper_start mt_wrapper_start;
mt_wrapper_start *mt_wrong_mpi_find_wrappers(void);

// Replaces every wrapper with a plain jump to the function that it passes calls on to.
// `mpi` is the file of the MPI. Takes ownership of `starts`, which mt_wrong_mpi_find_wrappers
// returned.
void mt_wrong_mpi_pass_through(const char *mpi, mt_wrapper_start *starts);

// Restores the wrappers if they were replaced: that MPI was unloaded.
void mt_wrong_mpi_restore(void);

#endif

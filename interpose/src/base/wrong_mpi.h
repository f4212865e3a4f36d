// Passes all calls on unrecorded if the MPI is not the one that this library was built
// for.
#ifndef MT_WRONG_MPI_H
#define MT_WRONG_MPI_H

#include "base/hook.h"

// Why no call reached the library, as readers of a run know it (internal/rundir/notes.go).
#define MT_UNSEEN_DIRECT "direct"       // the program calls PMPI functions
#define MT_UNSEEN_BYPASSED "bypassed"   // it took the functions' addresses before they were bound, or in an unknown way
#define MT_UNSEEN_NAMESPACE "namespace" // its MPI is in another namespace of the dynamic linker

// Called if the program is not recorded although it uses the MPI in the file `mpi`, at most
// once for each reason. The reason is "" if the library was built for another MPI.
typedef void mt_hook_wrong_mpi(const char *mpi, const char *reason);
MT_HOOK(wrong_mpi);

// Returns the starts of our wrappers, in an array that the caller frees. It must not be
// called under a lock, because it looks them up in the dynamic linker.
typedef struct mt_wrapper_start mt_wrapper_start;
mt_wrapper_start *mt_wrong_mpi_find_wrappers(void);

// Replaces every wrapper with a plain jump to the function that it passes calls on to.
// `mpi` is the file of the MPI. Takes ownership of `starts`, which mt_wrong_mpi_find_wrappers
// returned.
void mt_wrong_mpi_pass_through(const char *mpi, mt_wrapper_start *starts);

// Reports that an MPI was initialized, and no call reached the library.
void mt_wrong_mpi_unseen(const char *mpi, const char *reason);

// Restores the wrappers if they were replaced: that MPI was unloaded.
void mt_wrong_mpi_restore(void);

#endif

// Passing all calls on unrecorded, where the MPI is not the one we were built for.
#ifndef MT_WRONG_MPI_H
#define MT_WRONG_MPI_H

#include "base/hook.h"

// The program uses the MPI in this file, and is not recorded.
typedef void mt_hook_wrong_mpi(const char *mpi);
MT_HOOK(wrong_mpi);

// The starts of our wrappers, which the caller frees. Not to be called under a lock:
// the dynamic linker looks them up.
typedef struct mt_wrapper_start mt_wrapper_start;
mt_wrapper_start *mt_wrong_mpi_find(void);

// Makes every wrapper a plain jump to the function of the MPI, which is in the file
// `mpi`. Takes over what mt_wrong_mpi_find returned.
void mt_wrong_mpi_pass_through(const char *mpi, mt_wrapper_start *starts);

// Makes them wrappers again, if they are jumps: that MPI was unloaded.
void mt_wrong_mpi_record_again(void);

#endif

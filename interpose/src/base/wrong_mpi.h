// Passing all calls on unrecorded, where the MPI is not the one we were built for.
#ifndef MT_WRONG_MPI_H
#define MT_WRONG_MPI_H

#include "base/hook.h"

// The program uses the MPI in this file, and is not recorded.
typedef void mt_hook_wrong_mpi(const char *mpi);
MT_HOOK(wrong_mpi);

// Makes every wrapper a plain jump to the function of the MPI, which is in the file
// `mpi`.
void mt_wrong_mpi_pass_through(const char *mpi);

// Makes them wrappers again, if they are jumps: that MPI was unloaded.
void mt_wrong_mpi_record_again(void);

#endif

// Control variables of the MPI. Writes those that MPITRACE_CVAR names through MPI_T,
// and logs those that the environment sets. Each is a record of the recording.
#ifndef MT_CVARS_H
#define MT_CVARS_H

#include "base/base.h"

// Called before MPI_Init; `initialized` is true if MPI is initialized already. On
// rank 0, logs the control variables that the environment sets, before the MPI adds
// its own. Then writes the variables of MPITRACE_CVAR, which has one line NAME=VALUE
// for each. This happens before MPI_Init because the MPI reads most variables there.
// If MPITRACE_CVAR is not set, MPI_T is not opened. `caller` is as for mt_resolve.
void mt_cvars_open(uint64_t caller, bool initialized);

// Called once MPI is initialized. Tries again to write the variables that did not
// exist before MPI_Init or could not be written then.
void mt_cvars_ready(void);

#endif

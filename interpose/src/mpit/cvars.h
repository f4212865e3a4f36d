// Control variables of the MPI: those that MPITRACE_CVAR asks for are written
// through MPI_T, and those that the environment sets are noted. Each is a record.
#ifndef MT_CVARS_H
#define MT_CVARS_H

#include "base/base.h"

// Notes what the environment sets, on rank 0, before the MPI adds to it. Then
// writes what MPITRACE_CVAR says, a line NAME=VALUE each, before the MPI is
// initialized, which is when it looks at most variables; without it MPI_T is not
// opened. `initialized` if that is past. `caller` is as for mt_resolve.
void mt_cvars_open(uint64_t caller, bool initialized);

// Once the MPI is initialized: writes what could not be found before, or would
// not be written then.
void mt_cvars_ready(void);

#endif

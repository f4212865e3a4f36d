// What the MPI library itself sends: Open MPI's component pml/monitoring counts
// it, and writes a file at the end.
#ifndef MT_PHYSICAL_H
#define MT_PHYSICAL_H

#include <stdbool.h>

bool mt_physical_on(void);

// Before MPI is initialized, and only then does it do anything: has the component
// name its file for this process's recording, if `mpitrace run --physical`
// switched it on (MPITRACE_PHYSICAL=on).
void mt_physical_name(void);

// After that: processes that this one starts have a name that is nobody's.
void mt_physical_named(void);

#endif

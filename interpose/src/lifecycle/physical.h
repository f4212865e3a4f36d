// Physical traffic: what the MPI library itself sends. Open MPI's component
// pml/monitoring counts it and writes a file at the end.
#ifndef MT_PHYSICAL_H
#define MT_PHYSICAL_H

#include <stdbool.h>

// Reports whether `mpitrace run --physical` switched the component on
// (MPITRACE_PHYSICAL=on).
bool mt_physical_on(void);

// Names the component's file after this process's recording, if mt_physical_on. Works
// only before MPI is initialized.
void mt_physical_name(void);

// Sets another name in the environment, for processes that this one starts. Called
// after MPI is initialized.
void mt_physical_name_children(void);

#endif

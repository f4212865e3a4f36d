// The files that are loaded into the process, for naming call sites later.
#ifndef MT_MODULES_H
#define MT_MODULES_H

#include "mt.h"

// Records the modules that are not recorded yet.
void mt_modules_scan(void);

// Scans again if the address lies in none that is known.
void mt_modules_meet(uint64_t address);

#endif

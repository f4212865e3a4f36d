// The files that are loaded into the process, as the dynamic linker has them.
#ifndef MT_LOADER_H
#define MT_LOADER_H

#include "base/base.h"

// Whether an address lies in a file that is loaded.
bool mt_loader_has(uint64_t address);

// Whether two addresses lie in the same file.
bool mt_loader_same(const void *a, const void *b);

// The dynamic linker's dlclose: for references of ours, of which others remain.
int mt_dlclose(void *handle);

#endif

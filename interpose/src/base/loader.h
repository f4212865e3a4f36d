// The files that the dynamic linker has loaded into the process.
#ifndef MT_LOADER_H
#define MT_LOADER_H

#include "base/base.h"

// Reports whether an address lies in a loaded file.
bool mt_loader_contains(uint64_t address);

// Reports whether two addresses lie in the same file.
bool mt_loader_same_file(const void *a, const void *b);

// Calls the dynamic linker's dlclose, not our wrapper of it (lifecycle/dlclose.c). Use
// it only to drop a reference of our own while other references keep the file loaded.
int mt_dlclose(void *handle);

#endif

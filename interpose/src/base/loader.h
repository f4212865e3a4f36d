// The files that the dynamic linker has loaded into the process.
#ifndef MT_LOADER_H
#define MT_LOADER_H

#include "base/base.h"

// Reports whether an address lies in a loaded file.
bool mt_loader_contains(uint64_t address);

// Reports whether two addresses lie in the same file.
bool mt_loader_same_file(const void *a, const void *b);

// Reports whether an address lies in this library or in its dispatcher.
bool mt_loader_ours(const void *address);

// Reports whether a dispatcher has opened this library.
bool mt_loader_dispatched(void);

// Returns the next definition of a name after ours, in the dynamic linker's global scope.
void *mt_loader_next(const char *name);

// Returns a handle on the file that contains the address `caller`. Under the dispatcher it is a
// handle on a file that sees the caller's MPI.
void *mt_loader_module(uint64_t caller);

// Calls the dynamic linker's dlclose, not our wrapper of it (lifecycle/dlclose.c). Use
// it only to drop a reference of our own while other references keep the file loaded.
int mt_dlclose(void *handle);

#endif

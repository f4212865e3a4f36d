// Unloading files.
#ifndef MT_DLCLOSE_H
#define MT_DLCLOSE_H

#include "base/base.h"

// The dynamic linker's dlclose: for references of ours, of which others remain.
int mt_dlclose(void *handle);

#endif

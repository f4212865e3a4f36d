// How the dispatcher (dispatch/) and this library work together. The dispatcher is preloaded
// where the MPI of a program is not known before it runs, and opens this library with dlopen.
// What differs from being preloaded:
//
//  - RTLD_NEXT finds nothing after a library that was opened with dlopen. The dispatcher
//    looks names up for the library (mt_dispatcher).
//  - Thread-local data at fixed offsets need room that is reserved when the process starts.
//    The dispatcher defines them (MT_THREAD_LOCAL), and the library imports them: mpitrace makes
//    a copy of the library for this (interpose/import_tls.go).
#ifndef MT_DISPATCHER_H
#define MT_DISPATCHER_H

#include "base/base.h"

typedef struct mt_dispatcher {
    // Returns the next definition of a name after the dispatcher's.
    void *(*next)(const char *name);

    // Returns a handle on a module that sees the MPI which the code at `caller` calls, or NULL.
    // dlclose drops it.
    void *(*module)(uint64_t caller);
} mt_dispatcher;

// The dispatcher calls this after it has opened the library. Several threads may do so at the
// same time.
MT_EXPORT void mt_dispatched(const mt_dispatcher *d);

// Called by the dispatcher when the program initializes a second MPI, whose calls do not come
// here. `mpi` is its file.
MT_EXPORT void mt_dispatched_other(const char *mpi);

#endif

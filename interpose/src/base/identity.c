// What this library was made of, and for which MPI: by this mpitrace knows whether
// a library that is installed is the one that it would build (interpose/identity.go).
#ifndef MT_LIBRARY_IDENTITY
#define MT_LIBRARY_IDENTITY "unknown"
#endif

__attribute__((used, section(".mpitrace"))) static const char identity[] = MT_LIBRARY_IDENTITY;

// Identifies the sources of this library and the MPI that it was built for. mpitrace
// compares it to find out whether an installed library is the one that it would build
// (interpose/identity.go).
#ifndef MT_LIBRARY_IDENTITY
#define MT_LIBRARY_IDENTITY "unknown"
#endif

__attribute__((used, section(".mpitrace"))) static const char identity[] = MT_LIBRARY_IDENTITY;

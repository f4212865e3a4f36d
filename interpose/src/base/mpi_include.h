// mpi.h and the MPI's extensions, with their functions visible although the
// library hides its own, and with MT_HAVE_x for each function that they declare
// (have.h is made for each build by interpose.go).
#ifndef MT_MPI_INCLUDE_H
#define MT_MPI_INCLUDE_H

#pragma GCC visibility push(default)
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop
#include "have.h"

// What MPI 4.1 made const.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define MT_CONST_4_1 const
#else
#define MT_CONST_4_1
#endif

#endif

// Includes mpi.h and the MPI's extensions. Their functions get default visibility,
// although the library hides its own symbols. MT_HAVE_x is defined for each function
// that the headers declare: interpose.go writes have.h for each build.
#ifndef MT_MPI_INCLUDE_H
#define MT_MPI_INCLUDE_H

#pragma GCC visibility push(default)
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop
#include "have.h"

// const, for parameters that MPI 4.1 made const.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define MT_CONST_4_1 const
#else
#define MT_CONST_4_1
#endif

#endif

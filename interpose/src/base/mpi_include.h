// Includes the types and constants of MPI. For the known families of MPIs they come from our own
// headers: one library then serves all versions of a family, and is not stopped by an mpi.h
// whose prototypes differ. For other MPIs they come from mpi.h, whose functions get default
// visibility, although the library hides its own symbols.
//
// interpose.go writes have.h for each build. It defines MT_ABI_x for the family, and MT_HAVE_x
// for each function that the MPI's headers declare.
#ifndef MT_MPI_INCLUDE_H
#define MT_MPI_INCLUDE_H

#include "have.h"

#if defined(MT_ABI_MPICH)
#include "base/abi_mpich.h"
#elif defined(MT_ABI_OPENMPI)
#include "base/abi_openmpi.h"
#elif defined(MT_ABI_ABI)
#include "base/abi_abi.h"
#else
#pragma GCC visibility push(default)
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop
#endif

// const, for parameters that MPI 4.1 made const.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define MT_CONST_4_1 const
#else
#define MT_CONST_4_1
#endif

#endif

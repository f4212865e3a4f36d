// mpi.h, and integers in place of Fortran handles where it is the header of the standard ABI, which
// has none.
#ifndef MPI_FINT_H
#define MPI_FINT_H

#include <mpi.h>

#ifdef MPI_ABI_VERSION
#define MPI_Fint int
#define MPI_Comm_c2f MPI_Comm_toint
#define MPI_Request_c2f MPI_Request_toint
#define MPI_Win_c2f MPI_Win_toint
#endif

#endif

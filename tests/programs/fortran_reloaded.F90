! reloaded_plugin.c in Fortran.
#include "forms.inc"

integer(c_int) function run() bind(c)
  USE_MPI
  use, intrinsic :: iso_c_binding
  implicit none
  INCLUDE_MPI
  logical :: initialized, finalized
  integer :: out(5), in(5), rank, ierr
  run = 1
  call MPI_Initialized(initialized, ierr)
  call MPI_Finalized(finalized, ierr)
  if (initialized .or. finalized) return
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  out = 0
  call MPI_Sendrecv(out, 5, MPI_INTEGER, rank, 3, in, 5, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
  run = rank
end function

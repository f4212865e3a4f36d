! A plugin in Fortran: a shared object that host.c and initialized.c load (2 ranks). It
! initializes MPI if the program did not.
#include "forms.inc"
#include "check.inc"

integer(c_int) function plugin_main(argc, argv) bind(c)
  USE_MPI
  use, intrinsic :: iso_c_binding
  implicit none
  INCLUDE_MPI
  integer(c_int), value :: argc
  type(c_ptr), value :: argv
  logical :: initialized
  integer :: x(20), rank, ierr
  call MPI_Initialized(initialized, ierr)
  if (.not. initialized) call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  x = rank
  if (rank == 0) then
    call MPI_Send(x, 19, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, ierr)
  else
    call MPI_Recv(x, 20, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    REQUIRE(all(x(1:19) == 0) .and. x(20) == 1)
  end if
  call finish(rank)
  plugin_main = 0
end function

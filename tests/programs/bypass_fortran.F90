! A plug-in in Fortran for bypass.c: 10 steps make 10 MPI_Allreduce and 10 MPI_Barrier.
function step(i) bind(c)
  use iso_c_binding
  implicit none
  include 'mpif.h'
  integer(c_int), value :: i
  integer(c_int) :: step
  integer :: ierr, out, all
  out = i
  call MPI_Allreduce(out, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  step = all
end function

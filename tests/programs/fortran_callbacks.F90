! MPI calls two Fortran functions (2 ranks): an attribute's delete function, which
! makes an MPI call, and an error handler. Prints the errors, which must be the same
! as without the library.
#include "forms.inc"
#include "check.inc"

module seen
  implicit none
  integer :: deleted = 0, handled = 0, code = 0
end module

subroutine delete(comm, key, value, extra, ierr)
  use seen
  USE_MPI
  implicit none
  INCLUDE_MPI
  COMM :: comm
  integer :: key, ierr
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  deleted = deleted + int(value + extra)
  call MPI_Barrier(MPI_COMM_SELF ERR)
  ierr = MPI_SUCCESS
end subroutine

subroutine handle(comm, error)
  use seen
  USE_MPI
  implicit none
  INCLUDE_MPI
  COMM :: comm
  integer :: error, ierr
  handled = handled + 1
  call MPI_Error_class(error, code, ierr)
end subroutine

program callbacks
  use seen
  USE_MPI
  implicit none
  INCLUDE_MPI
#if FORM == 3
  procedure(MPI_Comm_delete_attr_function) :: delete
  procedure(MPI_Comm_errhandler_function) :: handle
#else
  external :: delete, handle
#endif
  COMM :: copy
  ERRHANDLER :: handler
  integer :: rank, key, x(4), errors(4), k, ierr
  integer(kind=MPI_ADDRESS_KIND) :: forty = 40, two = 2
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, key, two, ierr)
  call MPI_Comm_set_attr(copy, key, forty, ierr)
  REQUIRE(deleted == 0)
  call MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN, ierr)
  x = 0
  call MPI_Send(x, 4, MPI_INTEGER, 99, 0, copy, errors(1))
  call MPI_Send(x, -4, MPI_INTEGER, 0, 0, copy, errors(2))
  call MPI_Bcast(x, 4, MPI_DATATYPE_NULL, 0, copy, errors(3))
  REQUIRE(all(errors(1:3) /= MPI_SUCCESS))
  call MPI_Comm_create_errhandler(handle, handler, ierr)
  call MPI_Comm_set_errhandler(copy, handler, ierr)
  call MPI_Send(x, 4, MPI_INTEGER, 98, 0, copy, errors(4))
  REQUIRE(handled == 1 .and. code == MPI_ERR_RANK)
  call MPI_Errhandler_free(handler, ierr)
  do k = 1, 4
    call MPI_Error_class(errors(k), errors(k), ierr)
  end do
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, 1 - rank, 1, x, 1, MPI_INTEGER, 1 - rank, 1, copy, MPI_STATUS_IGNORE, ierr)
  REQUIRE(ierr == MPI_SUCCESS .and. x(1) == 1 - rank)
  call MPI_Comm_free(copy, ierr)
  REQUIRE(deleted == 42)
  call MPI_Comm_free_keyval(key, ierr)
  if (rank == 0) print '(a,4i4)', 'errors', errors
  call finish(rank)
end program

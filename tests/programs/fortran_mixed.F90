! Fortran and C in one program (2 ranks): requests started by one and completed
! by the other, handles converted both ways, and calls that bypass the library.
#include "forms.inc"
#include "check.inc"

program mixed
  USE_MPI
  use, intrinsic :: iso_c_binding
  implicit none
  INCLUDE_MPI
  interface
    subroutine wait_in_c(request) bind(c)
      import :: c_int
      integer(c_int) :: request
    end subroutine
    subroutine start_in_c(comm, to, n, buffer, request) bind(c)
      import :: c_int
      integer(c_int), value :: comm, to, n
      integer(c_int) :: request
      integer(c_int), asynchronous :: buffer(*)
    end subroutine
    function duplicate_in_c(comm) bind(c)
      import :: c_int
      integer(c_int), value :: comm
      integer(c_int) :: duplicate_in_c
    end function
  end interface
  COMM :: copy
  REQUEST :: q
  STATUS :: status
  integer, asynchronous :: x(20)
  integer :: rank, n, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  x = rank
#if FORM == 3
#define PLAIN(handle) handle%MPI_VAL
#else
#define PLAIN(handle) handle
#endif
  PLAIN(copy) = duplicate_in_c(PLAIN(MPI_COMM_WORLD))
  call MPI_Comm_set_name(copy, 'from C', ierr)
  if (rank == 0) then
    call MPI_Send(x, 5, MPI_INTEGER, 1, 1, copy, ierr)
    call start_in_c(PLAIN(copy), 1, 6, x, PLAIN(q))
    call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)
    call PMPI_Send(x, 7, MPI_INTEGER, 1, 3, copy, ierr)
  else
    call MPI_Irecv(x, 20, MPI_INTEGER, 0, 1, copy, q, ierr)
    call wait_in_c(PLAIN(q))
    REQUIRE(q == MPI_REQUEST_NULL .and. x(5) == 0 .and. x(6) == 1)
    call start_in_c(PLAIN(copy), -1, 20, x, PLAIN(q))
    call MPI_Wait(q, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    REQUIRE(n == 6 .and. SOURCE(status) == 0)
    call PMPI_Recv(x, 7, MPI_INTEGER, 0, 3, copy, MPI_STATUS_IGNORE, ierr)
  end if
  call MPI_Comm_free(copy, ierr)
  call finish(rank)
end program

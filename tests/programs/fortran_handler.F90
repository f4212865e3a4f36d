! MPI_Wait completes a receive whose message is too long, and its error handler posts
! another receive (2 ranks). The MPI may give it the handle that was just freed.
#include "forms.inc"
#include "check.inc"

module late
  USE_MPI
  implicit none
#if FORM == 1
  INCLUDE_MPI
#endif
  REQUEST :: request
  integer, asynchronous :: room(4)
  integer :: handled = 0
end module

subroutine handle(comm, error)
  USE_MPI
  use late, only: request, room, handled
  implicit none
  INCLUDE_MPI
  COMM :: comm
  integer :: error, ierr
  handled = handled + 1
  call MPI_Irecv(room, 4, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, request, ierr)
end subroutine

program handler
  USE_MPI
  use late, only: request, handled
  implicit none
  INCLUDE_MPI
#if FORM == 3
  procedure(MPI_Comm_errhandler_function) :: handle
#else
  external :: handle
#endif
  ERRHANDLER :: posts
  REQUEST :: short
  integer :: rank, ierr, i
  integer, asynchronous :: x(4)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_create_errhandler(handle, posts, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, posts, ierr)
  x = 1
  do i = 1, 10
    if (rank == 0) then
      call MPI_Send(x, 4, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, ierr)
      call MPI_Send(x, 4, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, ierr)
    else
      call MPI_Irecv(x, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, short, ierr)
      call MPI_Wait(short, MPI_STATUS_IGNORE, ierr)
      REQUIRE(handled == i)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  call finish(rank)
end program

! spawned.c in Fortran. Two processes spawn two others and exchange messages with them:
! each parent sends 100 bytes to both children, each child 8 bytes to parent 0.
#include "forms.inc"
#include "check.inc"

program spawned
  USE_MPI
  implicit none
  INCLUDE_MPI
  COMM :: parent, children
  STATUS :: status
  character(len=512) :: path
  integer :: x(25), rank, k, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_get_parent(parent, ierr)
  x = rank
  if (parent /= MPI_COMM_NULL) then
    do k = 0, 1
      call MPI_Recv(x, 25, MPI_INTEGER, k, 0, parent, status, ierr)
      REQUIRE(SOURCE(status) == k .and. all(x == k))
    end do
    call MPI_Send(x, 2, MPI_INTEGER, 0, 0, parent, ierr)
    call MPI_Comm_disconnect(parent, ierr)
    call MPI_Finalize(ierr)
  else
    call get_command_argument(0, path)
    call MPI_Comm_spawn(trim(path), MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, &
      MPI_ERRCODES_IGNORE, ierr)
    do k = 0, 1
      call MPI_Send(x, 25, MPI_INTEGER, k, 0, children, ierr)
    end do
    do k = 0, merge(1, -1, rank == 0)
      call MPI_Recv(x, 2, MPI_INTEGER, k, 0, children, MPI_STATUS_IGNORE, ierr)
    end do
    call MPI_Comm_disconnect(children, ierr)
    call finish(rank)
  end if
end program

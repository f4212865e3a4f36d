! flood.c in Fortran (2 ranks). Usage: flood K M
!
! Rank 0 sends K messages on MPI_COMM_WORLD and M on a duplicate of it. In phase 2,
! rank 1 receives those on MPI_COMM_WORLD with MPI_Recv and the others with
! MPI_Irecv. All messages are in its queue of unexpected messages before it receives
! the first one.
#include "forms.inc"
#include "check.inc"

subroutine receive_all(k, m, copy)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: k, m
  COMM, intent(in) :: copy
  REQUEST :: q
  integer :: i, ierr
  integer, asynchronous :: got
  call MPI_Pcontrol(2)
  do i = 0, k - 1
    call MPI_Recv(got, 1, MPI_INTEGER, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR) ! late recv
    REQUIRE(got == i)
  end do
  do i = 0, m - 1
    call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, i, copy, q ERR) ! late irecv
    call MPI_Wait(q, MPI_STATUS_IGNORE ERR)
    REQUIRE(got == i)
  end do
  call MPI_Send(got, 1, MPI_INTEGER, 0, k, MPI_COMM_WORLD ERR)
end subroutine

program flood
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, k, m, i, got, ierr
  character(len=16) :: text
  COMM :: copy
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call get_command_argument(1, text)
  read (text, *) k
  call get_command_argument(2, text)
  read (text, *) m
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
  if (rank == 0) then
    do i = 0, k - 1
      call MPI_Send(i, 1, MPI_INTEGER, 1, i, MPI_COMM_WORLD, ierr)
    end do
    do i = 0, m - 1
      call MPI_Send(i, 1, MPI_INTEGER, 1, i, copy, ierr)
    end do
    call MPI_Recv(got, 1, MPI_INTEGER, 1, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  else
    ! The messages of one sender arrive in order: once the last is here, all are.
    call MPI_Probe(0, k - 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Probe(0, m - 1, copy, MPI_STATUS_IGNORE, ierr)
    call receive_all(k, m, copy)
  end if
  call MPI_Comm_free(copy, ierr)
  call finish(rank)
end program

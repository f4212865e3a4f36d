! Uses windows, files and buffers from Fortran (2 ranks). Each process accesses the
! window of the other. The argument is the name of a file to write.
#include "forms.inc"
#include "check.inc"

subroutine windows(rank)
  USE_MPI
  use, intrinsic :: iso_c_binding
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  WIN :: made, allocated
  type(c_ptr) :: base
  integer(kind=MPI_ADDRESS_KIND) :: bytes, at
#if FORM == 1
  integer(kind=MPI_ADDRESS_KIND) :: memory
#endif
  integer, asynchronous :: there(20), here(20), old(1)
  integer :: other, ierr
  other = 1 - rank
  bytes = 80
  there = rank
  here = 10 + rank
  call MPI_Win_create(there, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, made ERR)
  call MPI_Win_fence(0, made ERR)
  at = 0
  call MPI_Put(here, 5, MPI_INTEGER, other, at, 5, MPI_INTEGER, made ERR)
  at = 5
  call MPI_Accumulate(here, 6, MPI_INTEGER, other, at, 6, MPI_INTEGER, MPI_SUM, made ERR)
  call MPI_Win_fence(0, made ERR)
  REQUIRE(all(there(1:5) == 10 + other) .and. all(there(6:11) == 11) .and. there(12) == rank)
  at = 12
  call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, made ERR)
  call MPI_Get(here, 7, MPI_INTEGER, other, at, 7, MPI_INTEGER, made ERR)
  call MPI_Fetch_and_op(1, old, MPI_INTEGER, other, at, MPI_NO_OP, made ERR)
  at = 19 ! the other process may still read the first elements
  call MPI_Fetch_and_op(rank + 1, old, MPI_INTEGER, other, at, MPI_SUM, made ERR)
  call MPI_Win_unlock(other, made ERR)
  REQUIRE(all(here(1:7) == other) .and. old(1) == other)
  call MPI_Win_fence(0, made ERR)
  REQUIRE(there(20) == rank + other + 1)
  call MPI_Win_free(made ERR)
#if FORM == 1
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, allocated ERR)
#else
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, allocated ERR)
#endif
  call MPI_Win_lock_all(0, allocated ERR)
  at = 3
  call MPI_Put(here, 8, MPI_INTEGER, other, at, 8, MPI_INTEGER, allocated ERR)
  call MPI_Win_unlock_all(allocated ERR)
  call MPI_Win_free(allocated ERR)
end subroutine

subroutine files(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  FILE_HANDLE :: f
  STATUS :: status
  REQUEST :: q
  integer(kind=MPI_OFFSET_KIND) :: at
  character(len=256) :: path
  integer :: x(30), n, ierr
  call get_command_argument(1, path)
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, f ERR)
  x = rank
  at = 120 * rank
  call MPI_File_write_at(f, at, x, 30, MPI_INTEGER, status ERR)
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  REQUIRE(n == 30)
  call MPI_File_sync(f ERR)
  call MPI_Barrier(MPI_COMM_WORLD ERR)
  at = 120 * (1 - rank)
  call MPI_File_read_at_all(f, at, x, 20, MPI_INTEGER, MPI_STATUS_IGNORE ERR)
  REQUIRE(all(x(1:20) == 1 - rank) .and. x(21) == rank)
  call MPI_File_iread_at(f, at, x, 25, MPI_INTEGER, q ERR)
  call MPI_Wait(q, MPI_STATUS_IGNORE ERR)
  REQUIRE(all(x(1:25) == 1 - rank))
  call MPI_File_close(f ERR)
end subroutine

subroutine buffered(rank)
  USE_MPI
#if FORM == 3
  use, intrinsic :: iso_c_binding
#endif
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  integer :: buffer(2000), x(9), n, ierr
#if FORM == 3
  type(c_ptr) :: gone
#else
  integer(kind=MPI_ADDRESS_KIND) :: gone
#endif
  call MPI_Buffer_attach(buffer, 8000 ERR)
  x = rank
  call MPI_Bsend(x, 9, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD ERR)
  call MPI_Recv(x, 9, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
  REQUIRE(all(x == 1 - rank))
  call MPI_Buffer_detach(gone, n ERR)
  REQUIRE(n == 8000)
end subroutine

program onesided
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call windows(rank)
  call files(rank)
  call buffered(rank)
  call finish(rank)
end program

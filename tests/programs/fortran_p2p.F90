! Sends messages of each Fortran data type with each send function (2 ranks): from
! rank 0 to rank 1 unless a comment says otherwise.
#include "forms.inc"
#include "check.inc"

! Sends scalars, arrays of two dimensions, sections and characters.
subroutine shapes(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  STATUS :: status
  REQUEST :: q
  integer :: x(100), i, n, ierr
  double precision :: one
  real :: square(3, 4)
  character(len=20) :: text
  x = (/(i, i = 1, 100)/)
  one = 1.5d0
  square = reshape((/(real(i), i = 1, 12)/), (/3, 4/))
  if (rank == 0) then
    call MPI_Send(x, 10, MPI_INTEGER, 1, 1, MPI_COMM_WORLD ERR)
    call MPI_Ssend(one, 1, MPI_DOUBLE_PRECISION, 1, 2, MPI_COMM_WORLD ERR)
    call MPI_Isend(square, 12, MPI_REAL, 1, 3, MPI_COMM_WORLD, q ERR)
    call MPI_Wait(q, MPI_STATUS_IGNORE ERR)
    call MPI_Send(x(1:100:2), 50, MPI_INTEGER, 1, 4, MPI_COMM_WORLD ERR)
    call MPI_Send('twelve bytes', 12, MPI_CHARACTER, 1, 5, MPI_COMM_WORLD ERR)
    call MPI_Send(x, 10, MPI_INTEGER, MPI_PROC_NULL, 6, MPI_COMM_WORLD ERR)
  else
    x = 0
    one = 0
    square = 0
    text = ' '
    call MPI_Recv(x, 100, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, status ERR)
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    REQUIRE(n == 10 .and. x(10) == 10 .and. x(11) == 0)
    call MPI_Recv(one, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, status ERR)
    REQUIRE(SOURCE(status) == 0 .and. one == 1.5d0)
    call MPI_Recv(square, 12, MPI_REAL, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
    REQUIRE(square(3, 1) == 3 .and. square(1, 2) == 4)
    x = 0
    call MPI_Recv(x(2:100:2), 50, MPI_INTEGER, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
    REQUIRE(sum(x) == 2500 .and. all(x(1:99:2) == 0) .and. x(100) == 99)
    call MPI_Recv(text, 20, MPI_CHARACTER, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
    REQUIRE(text == 'twelve bytes')
    call MPI_Recv(x, 10, MPI_INTEGER, MPI_PROC_NULL, 6, MPI_COMM_WORLD, status ERR)
    REQUIRE(SOURCE(status) == MPI_PROC_NULL)
  end if
end subroutine

! Uses absolute addresses, structures, and a datatype that reuses a freed handle.
subroutine types(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  DATATYPE :: absolute, pair, seven, members(2)
  integer, asynchronous :: a(3), b(5)
  integer(kind=MPI_ADDRESS_KIND) :: at(2)
  integer :: i, ierr
  double precision :: raw(8)
  integer :: x(7)
  a = (/(10 * rank + i, i = 1, 3)/)
  b = a(1)
  call MPI_Get_address(a, at(1), ierr)
  call MPI_Get_address(b, at(2), ierr)
  call MPI_Type_create_hindexed(2, (/3, 5/), at, MPI_INTEGER, absolute ERR)
  call MPI_Type_commit(absolute ERR)
  members(1) = MPI_INTEGER
  members(2) = MPI_DOUBLE_PRECISION
  at = (/0, 8/)
  call MPI_Type_create_struct(2, (/1, 1/), at, members, pair ERR)
  call MPI_Type_commit(pair ERR)
  raw = 1
  x = rank
  if (rank == 0) then
    call MPI_Send(MPI_BOTTOM, 1, absolute, 1, 10, MPI_COMM_WORLD ERR)
    call MPI_Send(raw, 4, pair, 1, 11, MPI_COMM_WORLD ERR)
  else
    call MPI_Recv(MPI_BOTTOM, 1, absolute, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
    if (.not. MPI_ASYNC_PROTECTS_NONBLOCKING) call MPI_Get_address(a, at(1), ierr)
    REQUIRE(all(a == (/1, 2, 3/)) .and. all(b == 1))
    call MPI_Recv(raw, 4, pair, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
  end if
  call MPI_Type_free(pair ERR)
  call MPI_Type_free(absolute ERR)
  call MPI_Type_contiguous(7, MPI_INTEGER, seven ERR)
  call MPI_Type_commit(seven ERR)
  if (rank == 0) then
    call MPI_Send(x, 1, seven, 1, 12, MPI_COMM_WORLD ERR)
  else
    call MPI_Recv(x, 1, seven, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
    REQUIRE(all(x == 0))
  end if
  call MPI_Type_free(seven ERR)
end subroutine

subroutine both_ways(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  STATUS :: status
  integer :: x(10), y(10), n, ierr
  x = rank
  call MPI_Sendrecv(x, 5 * (rank + 1), MPI_INTEGER, 1 - rank, 20, y, 10, MPI_INTEGER, 1 - rank, 20, &
    MPI_COMM_WORLD, status ERR)
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  REQUIRE(n == 5 * (2 - rank) .and. y(1) == 1 - rank)
  call MPI_Sendrecv_replace(x, 6, MPI_INTEGER, 1 - rank, 21, 1 - rank, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
  REQUIRE(all(x(1:6) == 1 - rank) .and. x(7) == rank)
end subroutine

subroutine persistent(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  REQUEST :: q(2)
  STATUSES(2) :: both
  integer :: x(20), k, ierr
  logical :: flag
  x = rank
  if (rank == 0) then
    call MPI_Send_init(x, 9, MPI_INTEGER, 1, 30, MPI_COMM_WORLD, q(1) ERR)
    call MPI_Ssend_init(x, 8, MPI_INTEGER, 1, 31, MPI_COMM_WORLD, q(2) ERR)
  else
    call MPI_Recv_init(x, 10, MPI_INTEGER, 0, 30, MPI_COMM_WORLD, q(1) ERR)
    call MPI_Recv_init(x(11), 10, MPI_INTEGER, MPI_ANY_SOURCE, 31, MPI_COMM_WORLD, q(2) ERR)
  end if
  do k = 1, 3
    call MPI_Start(q(1) ERR)
    call MPI_Wait(q(1), MPI_STATUS_IGNORE ERR)
  end do
  do k = 1, 2
    call MPI_Startall(2, q ERR)
    call MPI_Waitall(2, q, both ERR)
    if (rank == 1) then
      REQUIRE(SOURCE_AT(both, 1) == 0 .and. TAG_AT(both, 2) == 31)
    end if
  end do
  do k = 1, 2
    call MPI_Start(q(k) ERR)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(q(k), flag, MPI_STATUS_IGNORE ERR)
    end do
    call MPI_Request_free(q(k) ERR)
    REQUIRE(q(k) == MPI_REQUEST_NULL)
  end do
  REQUIRE(all(x(1:8) == 0) .and. x(10) == rank .and. x(20) == rank)
end subroutine

subroutine probes(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  STATUS :: status
  MESSAGE :: m
  REQUEST :: q
  integer :: x(20), k, n, ierr
  logical :: flag
  x = 0
  do k = 11, 15
    if (rank == 0) then
      call MPI_Send(x, k, MPI_INTEGER, 1, 30 + k, MPI_COMM_WORLD ERR)
      cycle
    end if
    flag = .false.
    select case (k)
    case (11, 12)
      call MPI_Mprobe(MPI_ANY_SOURCE, 30 + k, MPI_COMM_WORLD, m, status ERR)
    case (13)
      do while (.not. flag)
        call MPI_Improbe(0, 30 + k, MPI_COMM_WORLD, flag, m, status ERR)
      end do
    case (14)
      call MPI_Probe(0, 30 + k, MPI_COMM_WORLD, status ERR)
    case (15)
      do while (.not. flag)
        call MPI_Iprobe(MPI_ANY_SOURCE, 30 + k, MPI_COMM_WORLD, flag, status ERR)
      end do
    end select
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    REQUIRE(n == k .and. SOURCE(status) == 0)
    select case (k)
    case (11, 13)
      call MPI_Mrecv(x, n, MPI_INTEGER, m, MPI_STATUS_IGNORE ERR)
    case (12)
      call MPI_Imrecv(x, n, MPI_INTEGER, m, q ERR)
      call MPI_Wait(q, status ERR)
    case default
      call MPI_Recv(x, n, MPI_INTEGER, 0, 30 + k, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
    end select
  end do
end subroutine

! Sends two messages while recording is off, and one after it is on again.
subroutine paused(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  integer :: x(20), k, ierr
  x = 0
  do k = 16, 18
    if (k < 18) call MPI_Pcontrol(0)
    if (k == 18) call MPI_Pcontrol(1)
    if (rank == 0) call MPI_Send(x, k, MPI_INTEGER, 1, k, MPI_COMM_WORLD ERR)
    if (rank == 1) call MPI_Recv(x, k, MPI_INTEGER, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE ERR)
  end do
end subroutine

program p2p
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call shapes(rank)
  call types(rank)
  call both_ways(rank)
  call persistent(rank)
  call probes(rank)
  call paused(rank)
  call finish(rank)
end program

! Completes requests in each possible way from Fortran (3 ranks). In round k, ranks 1
! and 2 send 100 x rank + k characters, which rank 0 receives from any source. In
! the first nine rounds it reads the statuses, in the other nine it ignores them.
! (The program does not check indices, because the mpi_f08 of MPICH 4.0 counts them
! from 0. In Open MPI 4.1, Request_get_status never reports completion if its status
! is ignored.)
#include "forms.inc"
#include "check.inc"


! Checks that a status is that of a message of this round, and counts it.
subroutine note(status, k, seen)
  USE_MPI
  implicit none
  INCLUDE_MPI
  STATUS, intent(in) :: status
  integer, intent(in) :: k
  integer, intent(inout) :: seen(2)
  integer :: n, ierr
  REQUIRE(SOURCE(status) == 1 .or. SOURCE(status) == 2)
  call MPI_Get_count(status, MPI_CHARACTER, n, ierr)
  REQUIRE(n == 100 * SOURCE(status) + k)
  seen(SOURCE(status)) = seen(SOURCE(status)) + 1
end subroutine

subroutine complete(k, q)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: k
  REQUEST, intent(inout) :: q(2)
  STATUS :: one
  STATUSES(2) :: both
  integer :: seen(2), which(2), n, i, ierr
  logical :: flag
  ierr = MPI_SUCCESS
  seen = 0
  flag = .false.
  select case (k)
  case (0)
    do i = 1, 2
      call MPI_Wait(q(i), one ERR)
      call note(one, k, seen)
    end do
  case (1, 8)
    do while (k == 8 .and. .not. flag) ! reports the message before Waitall does; it is still one message
      call MPI_Request_get_status(q(1), flag, one ERR)
    end do
    call MPI_Waitall(2, q, both ERR)
    call note(AT(both, 1), k, seen)
    call note(AT(both, 2), k, seen)
  case (2)
    do i = 1, 2
      call MPI_Waitany(2, q, n, one ERR)
      call note(one, k, seen)
    end do
  case (3)
    do while (sum(seen) < 2)
      call MPI_Waitsome(2, q, n, which, both ERR)
      REQUIRE(n == 1 .or. n == 2)
      do i = 1, n
        call note(AT(both, i), k, seen)
      end do
    end do
  case (4)
    do i = 1, 2
      flag = .false.
      do while (.not. flag)
        call MPI_Test(q(i), flag, one ERR)
      end do
      call note(one, k, seen)
    end do
  case (5)
    do while (.not. flag)
      call MPI_Testall(2, q, flag, both ERR)
    end do
    call note(AT(both, 1), k, seen)
    call note(AT(both, 2), k, seen)
  case (6)
    do while (sum(seen) < 2)
      call MPI_Testany(2, q, n, flag, one ERR)
      if (flag) call note(one, k, seen)
    end do
  case (7)
    do while (sum(seen) < 2)
      call MPI_Testsome(2, q, n, which, both ERR)
      do i = 1, n
        call note(AT(both, i), k, seen)
      end do
    end do
  end select
  REQUIRE(all(seen == 1))
end subroutine

subroutine complete_unseen(k, q)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: k
  REQUEST, intent(inout) :: q(2)
  STATUS :: one
  integer :: done, which(2), n, i, ierr
  logical :: flag
  ierr = MPI_SUCCESS
  flag = .false.
  done = 0
  select case (k - 9)
  case (0)
    call MPI_Wait(q(1), MPI_STATUS_IGNORE ERR)
    call MPI_Wait(q(2), MPI_STATUS_IGNORE ERR)
  case (1, 8)
    do while (k == 17 .and. .not. flag)
      call MPI_Request_get_status(q(1), flag, one ERR)
    end do
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE ERR)
  case (2)
    call MPI_Waitany(2, q, n, MPI_STATUS_IGNORE ERR)
    call MPI_Waitany(2, q, n, MPI_STATUS_IGNORE ERR)
  case (3)
    do while (done < 2)
      call MPI_Waitsome(2, q, n, which, MPI_STATUSES_IGNORE ERR)
      done = done + n
    end do
  case (4)
    do i = 1, 2
      flag = .false.
      do while (.not. flag)
        call MPI_Test(q(i), flag, MPI_STATUS_IGNORE ERR)
      end do
    end do
  case (5)
    do while (.not. flag)
      call MPI_Testall(2, q, flag, MPI_STATUSES_IGNORE ERR)
    end do
  case (6)
    do while (done < 2)
      call MPI_Testany(2, q, n, flag, MPI_STATUS_IGNORE ERR)
      if (flag) done = done + 1
    end do
  case (7)
    do while (done < 2)
      call MPI_Testsome(2, q, n, which, MPI_STATUSES_IGNORE ERR)
      done = done + n
    end do
  end select
end subroutine

program completion
  USE_MPI
  implicit none
  INCLUDE_MPI
  REQUEST :: q(2)
  character(len=512) :: text(2)
  integer :: rank, k, ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  do k = 0, 17
    if (rank == 0) then
      text = ' '
      call MPI_Irecv(text(1), 512, MPI_CHARACTER, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, q(1) ERR)
      call MPI_Irecv(text(2), 512, MPI_CHARACTER, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, q(2) ERR)
      if (k < 9) then
        call complete(k, q)
      else
        call complete_unseen(k, q)
      end if
      REQUIRE(q(1) == MPI_REQUEST_NULL .and. q(2) == MPI_REQUEST_NULL)
      ! One message comes from rank 1, the other from rank 2, in any order.
      REQUIRE(len_trim(text(1)) + len_trim(text(2)) == 300 + 2 * k)
      REQUIRE(verify(text(1)(1:100 + k), '12') == 0 .and. text(1)(1:1) /= text(2)(1:1))
    else
      text(1) = repeat(achar(48 + rank), 512)
      call MPI_Send(text(1), 100 * rank + k, MPI_CHARACTER, 0, k, MPI_COMM_WORLD ERR)
    end if
  end do
  call finish(rank)
end program

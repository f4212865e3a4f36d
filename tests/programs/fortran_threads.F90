! Four OpenMP threads send at the same time (2 ranks). Thread t of rank 0 sends 50
! messages of t integers each, and rank 1 posts a receive for each message.
#include "forms.inc"
#include "check.inc"

subroutine exchange(rank, thread)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank, thread
  STATUS :: status
  integer :: x(4), k, n, ierr
  x = thread
  do k = 1, 50
    if (rank == 0) then
      call MPI_Send(x, thread, MPI_INTEGER, 1, thread, MPI_COMM_WORLD, ierr)
    else
      x = 0
      call MPI_Recv(x, 4, MPI_INTEGER, MPI_ANY_SOURCE, thread, MPI_COMM_WORLD, status, ierr)
      call MPI_Get_count(status, MPI_INTEGER, n, ierr)
      REQUIRE(n == thread .and. all(x(1:n) == thread))
    end if
  end do
end subroutine

program threads
  USE_MPI
  use omp_lib
  implicit none
  INCLUDE_MPI
  integer :: rank, provided, ierr
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierr)
  REQUIRE(provided == MPI_THREAD_MULTIPLE)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  !$omp parallel num_threads(4)
  call exchange(rank, omp_get_thread_num() + 1)
  !$omp end parallel
  call finish(rank)
end program

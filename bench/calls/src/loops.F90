! The loops of loops.c in Fortran: with mpif.h, or with mpi_f08 if F08 is defined.
! They have the names of those in loops.c, by which the driver and callgrind find them.
#ifdef F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define WIN type(MPI_Win)
#define VALUE(handle) handle%MPI_VAL
#else
#define COMM integer
#define REQUEST integer
#define WIN integer
#define VALUE(handle) handle
#endif

module loops
  use, intrinsic :: iso_c_binding
#ifdef F08
  use mpi_f08
#endif
  implicit none
#ifndef F08
  include 'mpif.h'
#endif
  integer, parameter :: window = 64, tag = 1, silent_tag = 99
  double precision, asynchronous :: outgoing(1024) = 0, incoming(1024) = 0
  integer :: counts(1024) = 1, displacements(1024) = 0
  integer :: ierr

  type, bind(C) :: place ! the member `fortran` of struct place in place.h
    integer(c_int) :: comm, dup, group, request, win, self, peer
  end type

contains

  subroutine loop_send(p, calls) bind(C, name='loop_Send')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    COMM :: comm
    VALUE(comm) = p%comm
    do i = 1, calls
      call MPI_Send(outgoing, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, tag, comm, ierr)
    end do
  end subroutine

  subroutine loop_isend_irecv_waitall(p, calls) bind(C, name='loop_IsendIrecvWaitall')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    COMM :: comm
    REQUEST :: requests(2)
    VALUE(comm) = p%comm
    do i = 1, calls
      call MPI_Isend(outgoing, 1, MPI_DOUBLE_PRECISION, p%self, tag, comm, requests(1), ierr)
      call MPI_Irecv(incoming, 1, MPI_DOUBLE_PRECISION, p%self, tag, comm, requests(2), ierr)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    end do
  end subroutine

  subroutine loop_sendrecv(p, calls) bind(C, name='loop_Sendrecv')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    COMM :: dup
    VALUE(dup) = p%dup
    do i = 1, calls
      call MPI_Sendrecv(outgoing, 1, MPI_DOUBLE_PRECISION, p%self, tag, incoming, 1, MPI_DOUBLE_PRECISION, &
                        p%self, tag, dup, MPI_STATUS_IGNORE, ierr)
    end do
  end subroutine

  subroutine loop_recv_null(p, calls) bind(C, name='loop_RecvNull')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    COMM :: comm
    VALUE(comm) = p%comm
    do i = 1, calls
      call MPI_Recv(incoming, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, tag, comm, MPI_STATUS_IGNORE, ierr)
    end do
  end subroutine

  subroutine loop_sendrecv_null(p, calls) bind(C, name='loop_SendrecvNull')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    COMM :: comm
    VALUE(comm) = p%comm
    do i = 1, calls
      call MPI_Sendrecv(outgoing, 1, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, tag, incoming, 1, MPI_DOUBLE_PRECISION, &
                        MPI_PROC_NULL, tag, comm, MPI_STATUS_IGNORE, ierr)
    end do
  end subroutine

  subroutine loop_iprobe(p, calls) bind(C, name='loop_Iprobe')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    logical :: flag
    COMM :: comm
    VALUE(comm) = p%comm
    do i = 1, calls
      call MPI_Iprobe(p%self, silent_tag, comm, flag, MPI_STATUS_IGNORE, ierr)
    end do
  end subroutine

  subroutine loop_test(p, calls) bind(C, name='loop_Test')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    logical :: flag
    REQUEST :: request
    VALUE(request) = p%request
    do i = 1, calls
      call MPI_Test(request, flag, MPI_STATUS_IGNORE, ierr)
    end do
  end subroutine

  subroutine loop_allreduce(p, calls) bind(C, name='loop_Allreduce')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    COMM :: group
    VALUE(group) = p%group
    do i = 1, calls
      call MPI_Allreduce(outgoing, incoming, 1, MPI_DOUBLE_PRECISION, MPI_SUM, group, ierr)
    end do
  end subroutine

  subroutine loop_bcast(p, calls) bind(C, name='loop_Bcast')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    COMM :: group
    VALUE(group) = p%group
    do i = 1, calls
      call MPI_Bcast(incoming, 1, MPI_DOUBLE_PRECISION, 0, group, ierr)
    end do
  end subroutine

  subroutine loop_barrier(p, calls) bind(C, name='loop_Barrier')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    COMM :: group
    VALUE(group) = p%group
    do i = 1, calls
      call MPI_Barrier(group, ierr)
    end do
  end subroutine

  subroutine loop_put_flush(p, calls) bind(C, name='loop_PutFlush')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    integer(MPI_ADDRESS_KIND) :: start = 0
    WIN :: win
    VALUE(win) = p%win
    do i = 1, calls
      call MPI_Put(outgoing, 1, MPI_DOUBLE_PRECISION, 0, start, 1, MPI_DOUBLE_PRECISION, win, ierr)
      call MPI_Win_flush(0, win, ierr)
    end do
  end subroutine

  subroutine loop_window(p, calls) bind(C, name='loop_Window')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    integer :: k
    COMM :: comm
    REQUEST :: requests(2 * window)
    VALUE(comm) = p%comm
    do i = 1, calls
      do k = 1, window
        call MPI_Irecv(incoming(k), 1, MPI_DOUBLE_PRECISION, p%peer, tag, comm, requests(k), ierr)
      end do
      do k = 1, window
        call MPI_Isend(outgoing(k), 1, MPI_DOUBLE_PRECISION, p%peer, tag, comm, requests(window + k), ierr)
      end do
      call MPI_Waitall(2 * window, requests, MPI_STATUSES_IGNORE, ierr)
    end do
  end subroutine

  subroutine loop_alltoallv(p, calls) bind(C, name='loop_Alltoallv')
    type(place), intent(in) :: p
    integer(c_long), value :: calls
    integer(c_long) :: i
    COMM :: group
    VALUE(group) = p%group
    do i = 1, calls
      call MPI_Alltoallv(outgoing, counts, displacements, MPI_DOUBLE_PRECISION, incoming, counts, &
                         displacements, MPI_DOUBLE_PRECISION, group, ierr)
    end do
  end subroutine

end module

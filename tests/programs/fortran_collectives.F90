! Calls collectives from Fortran (3 ranks): with MPI_IN_PLACE where it is allowed, on
! communicators and topologies created in Fortran, and with a reduction operation
! written in Fortran.
#include "forms.inc"
#include "check.inc"

! A reduction operation: adds, and makes an MPI call. (It may not communicate.)
#if FORM == 3
subroutine add(in, inout, n, datatype)
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(c_ptr), value :: in, inout
  integer :: n, i
  type(MPI_Datatype) :: datatype
  type(MPI_Info) :: info
  integer, pointer :: a(:), b(:)
  call c_f_pointer(in, a, [n])
  call c_f_pointer(inout, b, [n])
#else
subroutine add(a, b, n, datatype)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: n, i, a(n), b(n), datatype, info, ierr
#endif
  call MPI_Info_create(info ERR)
  do i = 1, n
    b(i) = b(i) + a(i)
  end do
  call MPI_Info_free(info ERR)
end subroutine

subroutine blocking(rank, comm)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  COMM, intent(in) :: comm
  integer :: x(12), y(12), i, ierr
  x = rank
  call MPI_Bcast(x, 10, MPI_INTEGER, 1, comm ERR)
  REQUIRE(all(x(1:10) == 1) .and. x(11) == rank)
  x = rank
  call MPI_Reduce(x, y, 9, MPI_INTEGER, MPI_SUM, 2, comm ERR)
  if (rank == 2) then
    REQUIRE(all(y(1:9) == 3))
    call MPI_Reduce(MPI_IN_PLACE, x, 8, MPI_INTEGER, MPI_SUM, 2, comm ERR)
    REQUIRE(all(x(1:8) == 3))
  else
    call MPI_Reduce(x, y, 8, MPI_INTEGER, MPI_SUM, 2, comm ERR)
  end if
  x = (/(rank, i = 1, 12)/)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, 4, MPI_INTEGER, comm ERR)
  x(4 * rank + 1:4 * rank + 4) = rank
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x, 4, MPI_INTEGER, comm ERR)
  REQUIRE(x(1) == 0 .and. x(5) == 1 .and. x(12) == 2)
  call MPI_Scan(x, y, 3, MPI_INTEGER, MPI_SUM, comm ERR)
  x = rank
  call MPI_Exscan(x, y, 2, MPI_INTEGER, MPI_SUM, comm ERR)
  call MPI_Reduce_scatter(x, y, (/1, 2, 3/), MPI_INTEGER, MPI_SUM, comm ERR)
  REQUIRE(all(y(1:rank + 1) == 3))
  call MPI_Gatherv(x, rank + 1, MPI_INTEGER, y, (/1, 2, 3/), (/0, 1, 3/), MPI_INTEGER, 0, comm ERR)
  if (rank == 0) then
    REQUIRE(all(y(1:6) == (/0, 1, 1, 2, 2, 2/)))
  end if
  call MPI_Barrier(comm ERR)
end subroutine

! Each rank sends i + 1 integers to rank i with Alltoallv, and i + 2 with Alltoallw,
! which takes a datatype for each rank and displacements in bytes.
subroutine each_to_each(rank, comm)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  COMM, intent(in) :: comm
  DATATYPE :: types(3)
  integer :: x(12), y(12), i, ierr
  x = rank
  y = -1
  types = (/(MPI_INTEGER, i = 1, 3)/)
  call MPI_Alltoallv(x, (/1, 2, 3/), (/0, 1, 3/), MPI_INTEGER, y, (/(rank + 1, i = 1, 3)/), &
    (/(i * (rank + 1), i = 0, 2)/), MPI_INTEGER, comm ERR)
  REQUIRE(y(1) == 0 .and. y(rank + 2) == 1 .and. y(3 * rank + 3) == 2)
  call MPI_Alltoallw(x, (/2, 3, 4/), (/0, 8, 20/), types, y, (/(rank + 2, i = 1, 3)/), &
    (/(4 * i * (rank + 2), i = 0, 2)/), types, comm ERR)
  REQUIRE(y(1) == 0 .and. y(rank + 3) == 1 .and. y(3 * rank + 6) == 2)
end subroutine

! Nonblocking collectives: their messages are counted when they start.
subroutine nonblocking(rank, comm)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  COMM, intent(in) :: comm
  REQUEST :: q(2)
  integer, asynchronous :: x(7)
  integer :: ierr
  x = rank
  call MPI_Ibarrier(comm, q(1) ERR)
  call MPI_Iallreduce(MPI_IN_PLACE, x, 7, MPI_INTEGER, MPI_SUM, comm, q(2) ERR)
  call MPI_Waitall(2, q, MPI_STATUSES_IGNORE ERR)
  REQUIRE(all(x == 3))
end subroutine

! Three topologies: a ring in one direction, without weights; a graph in which only
! rank 0 has edges, to the other two ranks; and a Cartesian grid of one dimension
! that is not periodic.
subroutine neighbours(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  COMM :: ring, star, line
  integer :: x(10), y(10), none(0), n_in, n_out, n, ierr
  logical :: weighted, periods(1)
  integer :: dims(1), coords(1)
  x = rank
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, (/modulo(rank - 1, 3)/), MPI_UNWEIGHTED, 1, &
    (/modulo(rank + 1, 3)/), MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring ERR)
  call MPI_Dist_graph_neighbors_count(ring, n_in, n_out, weighted, ierr)
  REQUIRE(n_in == 1 .and. n_out == 1 .and. .not. weighted)
  call MPI_Neighbor_allgather(x, 5, MPI_INTEGER, y, 5, MPI_INTEGER, ring ERR)
  REQUIRE(all(y(1:5) == modulo(rank - 1, 3)))
  if (rank == 0) then
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, (/0/), (/2/), (/1, 2/), (/7, 8/), MPI_INFO_NULL, .false., &
      star ERR)
  else
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 0, none, none, none, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., &
      star ERR)
  end if
  call MPI_Dist_graph_neighbors_count(star, n_in, n_out, weighted, ierr)
  REQUIRE(weighted .and. n_in + n_out == merge(2, 1, rank == 0))
  call MPI_Neighbor_alltoallv(x, (/3, 4/), (/0, 3/), MPI_INTEGER, y, (/rank + 2/), (/0/), MPI_INTEGER, star ERR)
  dims = 3
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, (/.false./), .true., line ERR)
  call MPI_Cart_get(line, 1, dims, periods, coords, ierr)
  REQUIRE(.not. periods(1) .and. dims(1) == 3)
  call MPI_Neighbor_alltoall(x, 2, MPI_INTEGER, y, 2, MPI_INTEGER, line ERR)
  call MPI_Comm_size(line, n, ierr)
  REQUIRE(n == 3)
  call MPI_Comm_free(line ERR)
  call MPI_Comm_free(star ERR)
  call MPI_Comm_free(ring ERR)
end subroutine

! Calls one Allreduce on each communicator: of 1 integer on the first, 2 on the next, …
subroutine communicators(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  COMM :: comms(4), local, between
  GROUP :: world, some
  REQUEST :: q
  integer :: x(5), k, ierr
  x = 1
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, comms(1) ERR) ! reversed
  call MPI_Comm_dup(MPI_COMM_WORLD, comms(2) ERR)
  call MPI_Comm_idup(MPI_COMM_WORLD, comms(3), q ERR)
  call MPI_Wait(q, MPI_STATUS_IGNORE ERR)
  comms(4) = MPI_COMM_NULL
  if (rank > 0) then
    call MPI_Comm_group(MPI_COMM_WORLD, world ERR)
    call MPI_Group_incl(world, 2, (/2, 1/), some ERR)
    call MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, comms(4) ERR)
    call MPI_Group_free(some ERR)
    call MPI_Group_free(world ERR)
  end if
  call MPI_Bcast(x, 5, MPI_INTEGER, 0, comms(1) ERR) ! from world rank 2
  do k = 2, 4
    if (k == 4 .and. rank == 0) cycle
    call MPI_Allreduce(MPI_IN_PLACE, x, k, MPI_INTEGER, MPI_MAX, comms(k) ERR)
  end do
  ! An intercommunicator of rank 0 and the other ranks. Rank 0 sends them 6 integers.
  call MPI_Comm_split(MPI_COMM_WORLD, min(rank, 1), rank, local ERR)
  call MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, merge(1, 0, rank == 0), 9, between ERR)
  call MPI_Bcast(x, 5, MPI_INTEGER, merge(MPI_ROOT, 0, rank == 0), between ERR)
  call MPI_Comm_free(between ERR)
  call MPI_Comm_free(local ERR)
  do k = 1, 4
    if (comms(k) /= MPI_COMM_NULL) call MPI_Comm_free(comms(k) ERR)
  end do
end subroutine

subroutine own_reduction(rank)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rank
  external :: add
  OP :: sum_up
  integer :: x(11), y(11), ierr
  x = rank + 1
  call MPI_Op_create(add, .true., sum_up ERR)
  call MPI_Allreduce(x, y, 11, MPI_INTEGER, sum_up, MPI_COMM_WORLD ERR)
  REQUIRE(all(y == 6))
  call MPI_Op_free(sum_up ERR)
end subroutine

program collectives
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, provided, ierr
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided ERR)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call blocking(rank, MPI_COMM_WORLD)
  call each_to_each(rank, MPI_COMM_WORLD)
  call nonblocking(rank, MPI_COMM_WORLD)
  call neighbours(rank)
  call communicators(rank)
  call own_reduction(rank)
  call finish(rank)
end program

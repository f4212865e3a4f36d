! examples/halo in Fortran, with `include 'mpif.h'`, or with `use mpi` if FORM is 2. It
! sends the same messages as the C program, so it must have the same matrix.
!
! Usage: halo ROWS COLUMNS STEPS, with the size of the plate in points
#include "forms.inc"

! Returns how many of n points belong to part i. The first mod(n, parts) parts have
! one point more than the others.
pure integer function share(n, parts, i)
  implicit none
  integer, intent(in) :: n, parts, i
  share = n / parts
  if (i < mod(n, parts)) share = share + 1
end function

! Fills the border of a block with the outermost points of its neighbours, which are
! in the order above, below, left, right. The first index runs along a row of the
! plate.
subroutine swap_borders(f, rows, cols, column, neighbour, grid)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rows, cols, column, neighbour(4), grid
  double precision, intent(inout) :: f(0:cols + 1, 0:rows + 1)
  integer :: q(8), ierr
  call MPI_Irecv(f(1, 0), cols, MPI_DOUBLE_PRECISION, neighbour(1), 2, grid, q(1), ierr)
  call MPI_Irecv(f(1, rows + 1), cols, MPI_DOUBLE_PRECISION, neighbour(2), 1, grid, q(2), ierr)
  call MPI_Irecv(f(0, 1), 1, column, neighbour(3), 4, grid, q(3), ierr)
  call MPI_Irecv(f(cols + 1, 1), 1, column, neighbour(4), 3, grid, q(4), ierr)
  call MPI_Isend(f(1, 1), cols, MPI_DOUBLE_PRECISION, neighbour(1), 1, grid, q(5), ierr)
  call MPI_Isend(f(1, rows), cols, MPI_DOUBLE_PRECISION, neighbour(2), 2, grid, q(6), ierr)
  call MPI_Isend(f(1, 1), 1, column, neighbour(3), 3, grid, q(7), ierr)
  call MPI_Isend(f(cols, 1), 1, column, neighbour(4), 4, grid, q(8), ierr)
  call MPI_Waitall(8, q, MPI_STATUSES_IGNORE, ierr)
end subroutine

! Makes one Jacobi step, and returns the sum of the squared changes.
double precision function relax(now, next, rows, cols)
  implicit none
  integer, intent(in) :: rows, cols
  double precision, intent(inout) :: now(0:cols + 1, 0:rows + 1), next(0:cols + 1, 0:rows + 1)
  integer :: i, j
  relax = 0
  do i = 1, rows
    do j = 1, cols
      next(j, i) = 0.25d0 * (now(j, i - 1) + now(j, i + 1) + now(j - 1, i) + now(j + 1, i))
      relax = relax + (next(j, i) - now(j, i))**2
    end do
  end do
  now(1:cols, 1:rows) = next(1:cols, 1:rows)
end function

! Prints the highest mean of a row of the plate and the lowest maximum of a column.
! Each rank computes both for its own rows and columns, and rank 0 gathers them.
subroutine report(f, rows, cols, all_cols, row, col, grid, ranks, text, residual)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, intent(in) :: rows, cols, all_cols, row, col, grid, ranks
  double precision, intent(in) :: f(0:cols + 1, 0:rows + 1), residual
  character(len=*), intent(in) :: text
  double precision :: sums(rows), totals(rows), peaks(cols), mine(2), all(2, ranks)
  integer :: rank, ierr
  sums = sum(f(1:cols, 1:rows), dim=1)
  totals = 0
  call MPI_Reduce(sums, totals, rows, MPI_DOUBLE_PRECISION, MPI_SUM, 0, row, ierr)
  peaks = maxval(f(1:cols, 1:rows), dim=2)
  call MPI_Allreduce(MPI_IN_PLACE, peaks, cols, MPI_DOUBLE_PRECISION, MPI_MAX, col, ierr)
  mine = (/max(0d0, maxval(totals / all_cols)), min(1d0, minval(peaks))/)
  call MPI_Gather(mine, 2, MPI_DOUBLE_PRECISION, all, 2, MPI_DOUBLE_PRECISION, 0, grid, ierr)
  call MPI_Comm_rank(grid, rank, ierr)
  if (rank /= 0) return
  print '(a)', text
  print '(a,es12.6e2,a,f8.6,a,f8.6)', 'residual ', residual, ', hottest row ', maxval(all(1, :)), &
    ', coolest peak ', minval(all(2, :))
end subroutine

program halo
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, external :: share
  double precision, external :: relax
  integer :: given(3), dims(2), coords(2), neighbour(4)
  integer :: grid, row, col, column, ranks, rank, rows, cols, step, i, ierr
  double precision, allocatable :: now(:, :), next(:, :)
  double precision :: mine, total
  character(len=80) :: text

  call MPI_Init(ierr)
  do i = 1, 3
    call get_command_argument(i, text)
    read (text, *) given(i)
  end do
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims, ierr)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, (/.false., .false./), .false., grid, ierr)
  call MPI_Comm_rank(grid, rank, ierr)
  call MPI_Cart_coords(grid, rank, 2, coords, ierr)
  call MPI_Cart_shift(grid, 0, 1, neighbour(1), neighbour(2), ierr)
  call MPI_Cart_shift(grid, 1, 1, neighbour(3), neighbour(4), ierr)
  call MPI_Cart_sub(grid, (/.false., .true./), row, ierr)
  call MPI_Cart_sub(grid, (/.true., .false./), col, ierr)
  call MPI_Comm_set_name(grid, 'grid', ierr)
  call MPI_Comm_set_name(row, 'row', ierr)
  call MPI_Comm_set_name(col, 'column', ierr)

  rows = share(given(1), dims(1), coords(1))
  cols = share(given(2), dims(2), coords(2))
  allocate (now(0:cols + 1, 0:rows + 1), next(0:cols + 1, 0:rows + 1))
  now = 0
  if (coords(1) == 0) now(:, 0) = 1
  call MPI_Type_vector(rows, 1, cols + 2, MPI_DOUBLE_PRECISION, column, ierr)
  call MPI_Type_commit(column, ierr)

  total = 0
  do step = 1, given(3)
    call swap_borders(now, rows, cols, column, neighbour, grid)
    mine = relax(now, next, rows, cols)
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid, ierr)
  end do
  write (text, '(a,i0,a,i0,a,i0,a,i0,a,i0,a)') 'halo: ', given(1), ' x ', given(2), ' points on ', dims(1), &
    ' x ', dims(2), ' ranks, ', given(3), ' steps'
  call report(now, rows, cols, given(2), row, col, grid, ranks, trim(text), sqrt(total))

  call MPI_Type_free(column, ierr)
  call MPI_Comm_free(row, ierr)
  call MPI_Comm_free(col, ierr)
  call MPI_Comm_free(grid, ierr)
  call MPI_Finalize(ierr)
end program

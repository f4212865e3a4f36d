! examples/halo in modern Fortran: heat on a square plate, by Jacobi iteration
! on a 2-D grid of processes, with the mpi_f08 module. It sends the same
! messages as the C program, so that its matrix is the same.
!
!   usage: halo [POINTS [POINTS [STEPS]]]
!
! The arguments are the rows and columns of the plate and the number of steps.
module plate
  use mpi_f08
  use, intrinsic :: iso_fortran_env, only: real64, error_unit
  implicit none
  private
  public :: options, layout, block, parse, make_layout, free_layout, make_block, free_block, solve, report

  integer, parameter :: up = 1, down = 2, left = 3, right = 4

  type options
    integer :: rows = 480, cols = 480, steps = 500
  end type

  ! The process grid, and where this rank is in it.
  type layout
    type(MPI_Comm) :: grid, row, col
    integer :: rank, size
    integer :: dims(2) = 0, coords(2)
    integer :: neighbour(4) ! MPI_PROC_NULL at the edge of the plate
  end type

  ! A rank's part of the plate: rows x cols points and a border one point wide.
  ! The first index runs along a row.
  type block
    integer :: rows, cols
    real(real64), allocatable :: now(:, :), next(:, :)
    type(MPI_Datatype) :: column ! rows points, one below the other
  end type

contains

  ! How many of n points fall to part i of parts: the first mod(n, parts) get
  ! one more than the others.
  pure integer function share(n, parts, i)
    integer, intent(in) :: n, parts, i
    share = n / parts
    if (i < mod(n, parts)) share = share + 1
  end function

  function make_layout() result(l)
    type(layout) :: l
    call MPI_Comm_size(MPI_COMM_WORLD, l%size)
    call MPI_Dims_create(l%size, 2, l%dims)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, l%dims, [.false., .false.], .false., l%grid)
    call MPI_Comm_rank(l%grid, l%rank)
    call MPI_Cart_coords(l%grid, l%rank, 2, l%coords)
    call MPI_Cart_shift(l%grid, 0, 1, l%neighbour(up), l%neighbour(down))
    call MPI_Cart_shift(l%grid, 1, 1, l%neighbour(left), l%neighbour(right))
    call MPI_Cart_sub(l%grid, [.false., .true.], l%row)
    call MPI_Cart_sub(l%grid, [.true., .false.], l%col)
    call MPI_Comm_set_name(l%grid, "grid")
    call MPI_Comm_set_name(l%row, "row")
    call MPI_Comm_set_name(l%col, "column")
  end function

  subroutine free_layout(l)
    type(layout), intent(inout) :: l
    call MPI_Comm_free(l%row)
    call MPI_Comm_free(l%col)
    call MPI_Comm_free(l%grid)
  end subroutine

  function make_block(l, o) result(b)
    type(layout), intent(in) :: l
    type(options), intent(in) :: o
    type(block) :: b
    b%rows = share(o%rows, l%dims(1), l%coords(1))
    b%cols = share(o%cols, l%dims(2), l%coords(2))
    allocate (b%now(0:b%cols + 1, 0:b%rows + 1), source=0.0_real64)
    if (l%coords(1) == 0) b%now(:, 0) = 1
    allocate (b%next, source=b%now)
    call MPI_Type_vector(b%rows, 1, b%cols + 2, MPI_DOUBLE_PRECISION, b%column)
    call MPI_Type_commit(b%column)
  end function

  subroutine free_block(b)
    type(block), intent(inout) :: b
    call MPI_Type_free(b%column)
    deallocate (b%now, b%next)
  end subroutine

  ! Fills the border with the neighbours' outermost points.
  subroutine swap_borders(l, f, b)
    type(layout), intent(in) :: l
    type(block), intent(in) :: b
    real(real64), intent(inout), asynchronous :: f(0:b%cols + 1, 0:b%rows + 1)
    type(MPI_Request) :: q(8)
    integer, parameter :: tag(4) = [0, 1, 2, 3]
    call MPI_Irecv(f(1, 0), b%cols, MPI_DOUBLE_PRECISION, l%neighbour(up), tag(down), l%grid, q(1))
    call MPI_Irecv(f(1, b%rows + 1), b%cols, MPI_DOUBLE_PRECISION, l%neighbour(down), tag(up), l%grid, q(2))
    call MPI_Irecv(f(0, 1), 1, b%column, l%neighbour(left), tag(right), l%grid, q(3))
    call MPI_Irecv(f(b%cols + 1, 1), 1, b%column, l%neighbour(right), tag(left), l%grid, q(4))
    call MPI_Isend(f(1, 1), b%cols, MPI_DOUBLE_PRECISION, l%neighbour(up), tag(up), l%grid, q(5))
    call MPI_Isend(f(1, b%rows), b%cols, MPI_DOUBLE_PRECISION, l%neighbour(down), tag(down), l%grid, q(6))
    call MPI_Isend(f(1, 1), 1, b%column, l%neighbour(left), tag(left), l%grid, q(7))
    call MPI_Isend(f(b%cols, 1), 1, b%column, l%neighbour(right), tag(right), l%grid, q(8))
    call MPI_Waitall(8, q, MPI_STATUSES_IGNORE)
  end subroutine

  ! One Jacobi step; returns the sum of the squared changes.
  real(real64) function relax(b)
    type(block), intent(inout) :: b
    real(real64), allocatable :: old(:, :)
    integer :: i, j
    relax = 0
    do i = 1, b%rows
      do j = 1, b%cols
        b%next(j, i) = 0.25_real64 * (b%now(j, i - 1) + b%now(j, i + 1) + b%now(j - 1, i) + b%now(j + 1, i))
        relax = relax + (b%next(j, i) - b%now(j, i))**2
      end do
    end do
    call move_alloc(b%now, old)
    call move_alloc(b%next, b%now)
    call move_alloc(old, b%next)
  end function

  ! The root of the summed squares of the changes in the last step.
  real(real64) function solve(l, b, steps)
    type(layout), intent(in) :: l
    type(block), intent(inout) :: b
    integer, intent(in) :: steps
    real(real64) :: mine, total
    integer :: s
    total = 0
    do s = 1, steps
      call swap_borders(l, b%now, b)
      mine = relax(b)
      call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, l%grid)
    end do
    solve = sqrt(total)
  end function

  ! On the first rank of each row of the process grid, the largest mean of a
  ! row of the plate; elsewhere 0.
  real(real64) function hottest_row(l, b, cols)
    type(layout), intent(in) :: l
    type(block), intent(in) :: b
    integer, intent(in) :: cols
    real(real64) :: sums(b%rows), totals(b%rows)
    sums = sum(b%now(1:b%cols, 1:b%rows), dim=1)
    totals = 0
    call MPI_Reduce(sums, totals, b%rows, MPI_DOUBLE_PRECISION, MPI_SUM, 0, l%row)
    hottest_row = max(0.0_real64, maxval(totals / cols))
  end function

  ! The smallest of the columns' largest values, over the columns of the plate
  ! that this rank has a part of.
  real(real64) function coolest_peak(l, b)
    type(layout), intent(in) :: l
    type(block), intent(in) :: b
    real(real64) :: peaks(b%cols)
    peaks = maxval(b%now(1:b%cols, 1:b%rows), dim=2)
    call MPI_Allreduce(MPI_IN_PLACE, peaks, b%cols, MPI_DOUBLE_PRECISION, MPI_MAX, l%col)
    coolest_peak = min(1.0_real64, minval(peaks))
  end function

  subroutine report(l, b, o, residual)
    type(layout), intent(in) :: l
    type(block), intent(in) :: b
    type(options), intent(in) :: o
    real(real64), intent(in) :: residual
    real(real64) :: mine(2), all(2, l%size)
    mine = [hottest_row(l, b, o%cols), coolest_peak(l, b)]
    call MPI_Gather(mine, 2, MPI_DOUBLE_PRECISION, all, 2, MPI_DOUBLE_PRECISION, 0, l%grid)
    if (l%rank /= 0) return
    print '(a,i0,a,i0,a,i0,a,i0,a,i0,a)', 'halo: ', o%rows, ' x ', o%cols, ' points on ', l%dims(1), ' x ', &
      l%dims(2), ' ranks, ', o%steps, ' steps'
    print '(a,es12.6e2,a,f8.6,a,f8.6)', 'residual ', residual, ', hottest row ', maxval(all(1, :)), &
      ', coolest peak ', minval(all(2, :))
  end subroutine

  function parse() result(o)
    type(options) :: o
    integer :: given(3), i, status
    character(len=16) :: text
    given = [o%rows, o%cols, o%steps]
    status = 0
    do i = 1, min(3, command_argument_count())
      call get_command_argument(i, text)
      if (status == 0) read (text, *, iostat=status) given(i)
    end do
    if (status /= 0 .or. command_argument_count() > 3 .or. any(given(1:2) < 1) .or. given(3) < 0) then
      write (error_unit, '(a)') 'usage: halo [POINTS [POINTS [STEPS]]]'
      call MPI_Abort(MPI_COMM_WORLD, 2)
    end if
    o = options(given(1), given(2), given(3))
  end function
end module

program halo
  use mpi_f08
  use plate
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  type(options) :: o
  type(layout) :: l
  type(block) :: b
  real(real64) :: residual
  call MPI_Init()
  o = parse()
  l = make_layout()
  b = make_block(l, o)
  residual = solve(l, b, o%steps)
  call report(l, b, o, residual)
  call free_block(b)
  call free_layout(l)
  call MPI_Finalize()
end program

! Calls in a module's procedure, in an external one, in a contained one and in
! the main program.
module grid
  use iso_c_binding
  implicit none
  interface
    subroutine place(name, line) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: line
    end subroutine
  end interface
contains
  subroutine exchange(n)
    integer, intent(inout) :: n
    call place('grid::exchange' // c_null_char, __LINE__)
    n = n + 1
  end subroutine
end module

subroutine outside(n)
  use grid
  integer, intent(inout) :: n
  call place('outside' // c_null_char, __LINE__)
  n = n + 1
end subroutine

program solver
  use grid
  implicit none
  integer :: n = 0
  call place('MAIN' // c_null_char, __LINE__)
  call exchange(n)
  call outside(n)
  call inside(n)
  if (n /= 3) stop 1
contains
  subroutine inside(n)
    integer, intent(inout) :: n
    call place('inside' // c_null_char, __LINE__)
    n = n + 1
  end subroutine
end program

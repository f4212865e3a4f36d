package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// fortranSites writes the program of cSites in Fortran, as procedures of a
// module and a main program, with the calls of one of MPI's bindings.
func fortranSites(plans []sitePlan, binding string) *siteProgram {
	f08 := binding == "mpi_f08"
	s := &siteProgram{}
	s.add("module parts")
	if f08 {
		s.add("  use mpi_f08")
	}
	s.add("  implicit none")
	if !f08 {
		s.add("  include 'mpif.h'")
	}
	s.add("  integer :: a(1024) = 0, b(1024), left, right, i, ierr")
	s.add("contains")
	last := ", ierr)"
	if f08 {
		last = ")" // the last argument is optional
	}
	for i, p := range plans {
		if i%10 == 0 {
			s.add("  subroutine part_%d()", i/10)
		}
		s.add("    do i = 1, %d", p.times)
		s.add("      call %s%s", fill(p.fortran, p.ints, i), last)
		s.lines = append(s.lines, s.line)
		s.add("    end do")
		if i%10 == 9 {
			s.add("    b(1) = 0") // otherwise the call at the end of the procedure would become a jump
			s.add("  end subroutine")
		}
	}
	s.add("end module")
	s.add("program sites")
	s.add("  use parts")
	s.add("  implicit none")
	s.add("  integer :: rank")
	s.add("  call MPI_Init(ierr)")
	s.add("  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)")
	s.add("  left = mod(rank + %d, %d)", siteRanks-1, siteRanks)
	s.add("  right = mod(rank + 1, %d)", siteRanks)
	for i := range len(plans) / 10 {
		s.add("  call part_%d()", i)
	}
	s.add("  if (rank == 0) print '(a)', 'ok'")
	s.add("  call MPI_Finalize(ierr)")
	s.add("end program")
	return s
}

// fortran returns the MPI's Fortran compiler. The modules of the Python wheels
// are not readable by gfortran.
func (m implementation) fortran() string { return strings.Replace(m.cc, "mpicc", "mpif90", 1) }

func TestCallSitesFortran(t *testing.T) {
	plans := sitePlans()
	for _, binding := range []string{"mpif.h", "mpi_f08"} {
		s := fortranSites(plans, binding)
		t.Run(binding, func(t *testing.T) {
			withEach(t, debian, func(t *testing.T, m implementation) {
				testenv.Need(t, "gfortran", m.fortran())
				dir := t.TempDir()
				source, program := filepath.Join(dir, "sites50.f90"), filepath.Join(dir, "sites50")
				if err := os.WriteFile(source, []byte(s.text.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				m.build(t, m.fortran(), source, program, "-O1", "-ffree-line-length-none", "-fallow-argument-mismatch", "-J"+dir)
				j := m.run(t, siteRanks, program)
				if !slices.ContainsFunc(callSites(t, j.dir), isSendrecv) {
					t.Fatal("no call of Sendrecv was recorded")
				}
				function := func(i int) string { return "parts::" + siteFunction(i) }
				checkSites(t, "sites50.f90", s.lines, plans, function, callSites(t, j.dir))
			})
		})
	}
}

func isSendrecv(c aggregate.CallSite) bool { return c.Call == "Sendrecv" }

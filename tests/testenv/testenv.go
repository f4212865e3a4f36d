// Package testenv helps tests to adapt to the machine: which programs it has, and
// which tests to run.
package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
)

// Need skips the test if a program is not on PATH, or a file with an absolute
// path is missing. Under CI, where no test may be skipped, the test fails
// instead. At level check, a test that needs an MPI is skipped in any case.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if ofMPI.MatchString(filepath.Base(name)) {
			notInCheck(t)
		}
		_, err := exec.LookPath(name)
		if filepath.IsAbs(name) {
			_, err = os.Stat(name)
		}
		if err != nil {
			Skip(t, "needs "+name+", which is missing")
		}
	}
}

// ofMPI matches the compiler wrappers and launchers of MPIs.
var ofMPI = regexp.MustCompile(`^mpi(cc|run|exec|f90|fort)\b`)

// notInCheck skips the test at level check, but not at the levels above.
func notInCheck(t testing.TB) {
	t.Helper()
	if Highest() == Check {
		At(t, Quick)
	}
}

// Skip calls t.Skip on a developer's machine and t.Fatal under CI.
func Skip(t testing.TB, why string) {
	t.Helper()
	if InCI() {
		t.Fatal(why)
	}
	t.Skip(why)
}

// InCI reports whether this is continuous integration: CI is in the environment
// with a value other than "", "0" or "false".
func InCI() bool {
	return !slices.Contains([]string{"", "0", "false"}, os.Getenv("CI"))
}

// Allocated returns how many bytes f allocates in total, including those that
// it frees again. It is an upper bound on the bytes in use at any time.
//
// The runtime counts small objects by the span, when it takes a new span. The
// result may therefore be about 100 KiB too large or too small.
func Allocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// AllocatedAlone does what Allocated does, but exactly to the byte, for small
// bounds. While f runs, no other goroutine runs in parallel and no garbage is
// collected, so that pools keep their objects.
func AllocatedAlone(f func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

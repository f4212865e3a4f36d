// Package testenv tells tests what the machine has.
package testenv

import (
	"os"
	"os/exec"
	"runtime/metrics"
	"slices"
	"testing"
)

// Need stops the test unless every program is on PATH: it is skipped on a
// developer's machine, and fails under CI, where none may be skipped.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			Skip(t, "needs "+name+", which is not on PATH")
		}
	}
}

// Skip is t.Skip on a developer's machine and t.Fatal under CI.
func Skip(t testing.TB, why string) {
	t.Helper()
	if InCI() {
		t.Fatal(why)
	}
	t.Skip(why)
}

// InCI reports whether the environment says that this is continuous
// integration: CI is set, and to something else than no.
func InCI() bool {
	return !slices.Contains([]string{"", "0", "false"}, os.Getenv("CI"))
}

// Allocated is how many bytes f allocates, those included that it frees again:
// no less than what it has in use at any time.
func Allocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

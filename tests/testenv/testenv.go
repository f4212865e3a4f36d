// Package testenv tells tests what the machine has.
package testenv

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
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
//
// The runtime counts what is small by the span, whenever it takes a new one: so
// some 100 KiB may be of what was allocated before, or be missing.
func Allocated(f func()) uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	f()
	metrics.Read(sample)
	return sample[0].Value.Uint64() - before
}

// AllocatedAlone is Allocated to the byte, for small bounds: nothing else runs
// meanwhile, nor is any garbage collected, so that pools keep what they have.
func AllocatedAlone(f func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

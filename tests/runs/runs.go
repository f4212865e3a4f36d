// Package runs makes empty run directories and spools for tests.
package runs

import (
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// New returns a run directory without recordings, which is removed when the
// test ends.
func New(t testing.TB) rundir.Dir {
	t.Helper()
	d, err := rundir.Create(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// NewSpool returns an empty spool, which is removed when the test ends.
func NewSpool(t testing.TB) *rundir.Spool {
	t.Helper()
	s, err := rundir.NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

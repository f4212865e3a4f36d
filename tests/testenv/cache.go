package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Root returns the path of the repository.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		err = os.ErrNotExist
	}
	return "", err
}

// SharedCache has the test build libraries in build/cache, where other tests and
// the next run find them: a library's name is a hash of its sources and flags.
// usable reports whether libraries may be loaded from the directory that
// $MPITRACE_CACHE names; it is not if other users can write to it, as to some
// containers' repositories, and then the test has a cache of its own.
func SharedCache(t testing.TB, usable func() bool) {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	if t.Setenv("MPITRACE_CACHE", filepath.Join(root, "build", "cache")); !usable() {
		t.Setenv("MPITRACE_CACHE", filepath.Join(t.TempDir(), "cache"))
	}
}

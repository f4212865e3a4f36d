package testenv

import (
	"os"
	"path/filepath"
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

// SharedCache sets $MPITRACE_CACHE to the directory build/cache of the
// repository. Tests of all packages, and later runs, find there the libraries
// that one of them has built: a library's name is a hash of its sources and
// flags. If usable reports that the directory cannot be used, for example
// because other users can write to it, as in some containers, it sets fallback
// instead.
func SharedCache(fallback string, usable func() bool) {
	root, err := Root()
	if Highest() == Check { // no library is built, and go test would miss its result when build/cache changes
		os.Setenv("MPITRACE_CACHE", fallback)
		return
	}
	if err == nil {
		os.Setenv("MPITRACE_CACHE", filepath.Join(root, "build", "cache"))
	}
	if err != nil || !usable() {
		os.Setenv("MPITRACE_CACHE", fallback)
	}
}

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

// SharedCache names, for $MPITRACE_CACHE, the directory build/cache, where tests of
// all packages and the next run find the libraries that one of them built: a library's
// name is a hash of its sources and flags. It is fallback if usable says that it
// cannot be used, as other users can write to some containers' repositories.
func SharedCache(fallback string, usable func() bool) {
	root, err := Root()
	if err == nil {
		os.Setenv("MPITRACE_CACHE", filepath.Join(root, "build", "cache"))
	}
	if err != nil || !usable() {
		os.Setenv("MPITRACE_CACHE", fallback)
	}
}

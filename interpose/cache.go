package interpose

import "errors"

// CacheDir returns the directory in which Build keeps libraries. It creates the
// directory if it does not exist.
func CacheDir() (string, error) { return cacheDir() }

// Find returns the library for an MPI without compiling: from the cache, where it
// writes the prebuilt library if there is one for this MPI. It returns ErrNotBuilt
// if it would have to compile.
func Find(o BuildOptions) (lib string, err error) {
	lib, err = library.path(o)
	if err != nil {
		return "", err
	}
	if CheckLibrary(lib) == nil {
		return lib, nil
	}
	packed := library.packedFor(o)
	if packed == nil {
		return "", ErrNotBuilt
	}
	if err := library.unpackFor(packed, o, lib); err != nil {
		return "", err
	}
	return lib, CheckLibrary(lib)
}

// ErrNotBuilt reports that there is no library for an MPI yet.
var ErrNotBuilt = errors.New("no library for this MPI yet")

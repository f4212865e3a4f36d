package interpose

// CacheDir returns the directory in which Build keeps libraries. It creates the
// directory if it does not exist.
func CacheDir() (string, error) { return cacheDir() }

// Find returns the library for an MPI without compiling: from the cache, where it
// writes the prebuilt library if there is one for this MPI.
func Find(o BuildOptions) (lib string, ok bool) {
	lib, err := library.path(o)
	if err != nil {
		return "", false
	}
	if CheckLibrary(lib) == nil {
		return lib, true
	}
	packed := library.packedFor(o)
	return lib, packed != nil && library.unpackFor(packed, o, lib) == nil && CheckLibrary(lib) == nil
}

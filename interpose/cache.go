package interpose

// CacheDir returns the directory in which Build keeps libraries. It creates the
// directory if it does not exist.
func CacheDir() (string, error) { return cacheDir() }

// Find returns the path of the library that Build would return, if it is
// already built. The ranks of a job use it, since they never compile.
func Find(o BuildOptions) (lib string, ok bool) {
	lib, err := library.path(o)
	return lib, err == nil && CheckLibrary(lib) == nil
}

package interpose

// CacheDir is the directory that Build keeps libraries in. It is made if it
// does not exist.
func CacheDir() (string, error) { return cacheDir() }

// Find is the library that Build would return, if it need not be compiled: for
// the ranks of a job, which never compile.
func Find(o BuildOptions) (lib string, ok bool) {
	lib, err := library.path(o)
	return lib, err == nil && CheckLibrary(lib) == nil
}

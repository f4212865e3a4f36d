package interpose

import (
	"os"
	"path/filepath"
)

// CacheDir is the directory that Build keeps libraries in. It is made if it
// does not exist.
func CacheDir() (string, error) { return cacheDir() }

// Find is the library that Build would return, if it need not be compiled: for
// the ranks of a job, which never compile.
func Find(o BuildOptions) (lib string, ok bool) {
	dir, err := cacheDir()
	if err != nil {
		return "", false
	}
	key, err := o.identity()
	if err != nil {
		return "", false
	}
	lib = filepath.Join(dir, "libmpitrace-"+key+".so")
	_, err = os.Stat(lib)
	return lib, err == nil
}

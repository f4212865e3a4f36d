package interpose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// dispatcher is the library that is preloaded where the MPI is not known before
// the program runs: see src/dispatch/dispatch.c. It lies in a directory with the
// libraries that it opens.
var dispatcher = Product{
	what: "the library for all MPIs", dir: "src", name: dispatcherDir + "%s/" + dispatcherName,
	units: func(file string) bool {
		return ofDispatcher(file) || strings.HasPrefix(file, "bind/") || strings.HasSuffix(file, "/thread_local.c") || file == "base/stderr.c"
	},
	plain:   true,
	compile: []string{"-std=gnu11", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-Wall", "-Wextra"},
	link:    []string{"-shared", "-Wl,-Bsymbolic", "-ldl"},
	packed:  library.packed, prebuildLink: library.prebuildLink,
}

// PrebuiltDispatcher is the product that interpose/zig compiles for AllFamilies.
var PrebuiltDispatcher = &dispatcher

// The name of the dispatcher's file, and the start of its directory's name.
const dispatcherName, dispatcherDir = "libmpitrace.so", "dispatch-"

// IsDispatcher reports whether the path is that of a dispatcher. Its directory is
// compared too, because another tool, Extrae, also has a libmpitrace.so.
func IsDispatcher(path string) bool {
	return filepath.Base(path) == dispatcherName && strings.HasPrefix(filepath.Base(filepath.Dir(path)), dispatcherDir)
}

func ofDispatcher(file string) bool { return strings.HasPrefix(file, "dispatch/") }

// A DispatchedMPI is an MPI that the dispatcher has a library for.
type DispatchedMPI struct {
	MPI     string // path of the MPI's shared library
	Library string // path of the library that Build returned for it
}

// ErrServesNone is the error of Dispatcher if it has no library for any MPI.
// Programs would run with such a dispatcher, but nothing would be recorded.
var ErrServesNone = errors.New("there is no library for any MPI yet: this mpitrace has no prebuilt libraries, and has compiled none")

// Dispatcher returns the path of the dispatcher. Unless they exist, it writes the dispatcher, the
// prebuilt libraries and those of the given MPIs into one directory. Without a prebuilt dispatcher
// it compiles one. It does not use o.MPI.
func Dispatcher(ctx context.Context, o BuildOptions, mpis []DispatchedMPI) (string, error) {
	o.MPI = ""
	file, err := dispatcher.path(o)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", &NoRoomError{err}
	}
	if err := addPrebuilt(dir); err != nil {
		return "", err
	}
	for _, m := range mpis {
		if HasPrebuilt(BuildOptions{MPI: m.MPI}) {
			continue
		}
		if err := addCompiled(dir, m); err != nil {
			return "", fmt.Errorf("prepare the library for %s: %w", m.MPI, err)
		}
	}
	if len(dispatched(dir)) == 0 {
		return "", ErrServesNone
	}
	if file, err = dispatcher.build(ctx, o); err != nil {
		return "", err
	}
	return file, CheckLibrary(file)
}

// dispatched returns the paths of the libraries in the directory of a dispatcher.
func dispatched(dir string) (files []string) {
	entries, _ := os.ReadDir(dir) // a directory that cannot be listed serves nothing
	prefix, _, _ := strings.Cut(dispatchedName("*"), "*")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// HasPrebuiltDispatcher reports whether Dispatcher compiles nothing.
func HasPrebuiltDispatcher() bool { return dispatcher.packedFor(BuildOptions{}) != nil }

// FindDispatcher returns the path of the dispatcher as Dispatcher does, or an
// error if it would have to be compiled.
func FindDispatcher() (string, error) {
	if HasPrebuiltDispatcher() {
		return Dispatcher(context.Background(), BuildOptions{}, nil)
	}
	file, err := dispatcher.path(BuildOptions{})
	if err != nil {
		return "", err
	}
	return file, CheckLibrary(file)
}

// addPrebuilt writes the prebuilt libraries of all families, which the
// dispatcher finds by the sonames of their MPIs.
func addPrebuilt(dir string) error {
	for _, f := range Families {
		packed := embedded(f.PrebuiltName(runtime.GOARCH))
		if packed == nil {
			continue // this mpitrace has none
		}
		var image []byte
		var err error
		for _, soname := range f.Sonames {
			file := filepath.Join(dir, dispatchedName(soname))
			if _, err := os.Stat(file); err == nil {
				continue
			}
			if image == nil {
				if image, err = decompress(packed); err == nil {
					err = ImportThreadLocal(image)
				}
			}
			if err != nil {
				return fmt.Errorf("unpack the library of %s: %w", f.Name, err)
			}
			if err := writeToCache(file, image); err != nil {
				return err
			}
		}
	}
	return nil
}

// addCompiled writes a library that was compiled for one MPI. The dispatcher
// finds it by the path of this MPI. It also serves other MPIs with the same
// soname, unless there is a library for them already.
func addCompiled(dir string, m DispatchedMPI) error {
	real, err := filepath.EvalSymlinks(m.MPI)
	if err != nil {
		return err
	}
	names := []string{dispatchedName(real)}
	if soname := sonameOf(real); soname != "" {
		names = append(names, dispatchedName(soname))
	}
	const longest = 255 // name of a file
	for i, name := range names {
		file := filepath.Join(dir, name)
		_, err := os.Stat(file)
		if isThere := err == nil && (i > 0 || identityOf(file) == identityOf(m.Library)); isThere || len(name) > longest {
			continue
		}
		image, err := os.ReadFile(m.Library)
		if err == nil {
			err = ImportThreadLocal(image)
		}
		if err == nil {
			err = writeToCache(file, image)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dispatchedName returns the name under which the dispatcher looks for a
// library. name is the path or the soname of an MPI's shared library.
func dispatchedName(name string) string {
	return "libmpitrace-" + strings.ReplaceAll(name, "/", "%") + ".so"
}

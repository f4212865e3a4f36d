package interpose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose/layout"
)

// Product is a file that is compiled from embedded sources with an MPI's own
// compiler wrapper, and kept in the user's cache.
type Product struct {
	what         string   // description for messages
	dir          string   // directory of its sources
	shared       []string // patterns of headers in src that it uses too
	name         string   // of the file; %s is replaced by its identity
	compile      []string
	link         []string
	units        func(file string) bool // reports whether a C file is compiled; nil: all are
	plain        bool                   // whether it needs nothing of an MPI
	packed       string                 // name of the prebuilt file; %s are its family and machine, %x a hash
	prebuildLink []string               // flags of the linker when it is prebuilt
	perCopy      bool                   // whether each copy of an MPI has its own file
}

// build returns the path of the product for an MPI. It compiles the product
// unless it is already in the cache.
func (p *Product) build(ctx context.Context, o BuildOptions) (string, error) {
	file, err := p.path(o)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err == nil {
		return file, CheckLibrary(file)
	}
	if packed := p.packedFor(o); packed != nil {
		return file, p.unpackPrebuilt(packed, o, file)
	}
	if o.Log != nil {
		fmt.Fprintf(o.Log, "mpitrace: building %s with %s (first time)\n", p.what, o.CC)
	}
	if err := p.make(ctx, o, file); err != nil {
		return "", fmt.Errorf("build %s: %w", p.what, err)
	}
	return file, nil
}

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
	if err := library.unpackPrebuilt(packed, o, lib); err != nil {
		return "", err
	}
	return lib, CheckLibrary(lib)
}

// ErrNotBuilt reports that there is no library for an MPI yet.
var ErrNotBuilt = errors.New("no library for this MPI yet")

// path returns the path of the product for an MPI, whether it exists or not.
func (p *Product) path(o BuildOptions) (string, error) {
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = CacheDir(); err != nil {
			return "", err
		}
	}
	key, err := p.identity(o)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf(p.name, key)), nil
}

// sourceFile is an embedded file, with its name from the directory of this package.
type sourceFile struct {
	name string
	text []byte
}

// sources returns the embedded files of the product, in the same order each time.
func (p *Product) sources() (files []sourceFile, err error) {
	add := func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		files = append(files, sourceFile{path, text})
		return err
	}
	err = fs.WalkDir(sources, p.dir, add)
	for _, pattern := range p.shared {
		headers, globErr := fs.Glob(sources, pattern)
		err = errors.Join(err, globErr)
		for _, header := range headers {
			err = errors.Join(err, fs.WalkDir(sources, header, add))
		}
	}
	return files, err
}

// make compiles and links in a directory next to the file, and renames the
// result, so that the file is always complete.
func (p *Product) make(ctx context.Context, o BuildOptions, file string) error {
	removeAbandoned(filepath.Dir(file))
	work, remove, err := atomicfile.MakeTemporary(filepath.Dir(file), "build-")
	if err != nil {
		return &NoRoomError{err}
	}
	defer remove()
	key, err := p.identity(o)
	if err != nil {
		return err
	}
	out, err := p.makeIn(ctx, o, work, key, p.link, func([]string) error {
		if p.plain {
			return nil
		}
		return o.writeHave(ctx, work)
	})
	if err != nil {
		return err
	}
	if err := os.Chmod(out, 0o755); err != nil { // independent of the umask
		return err
	}
	return os.Rename(out, file)
}

// makeIn compiles and links in the directory work, and returns the path of the result. have is
// called with the files to compile, and writes have.h.
func (p *Product) makeIn(ctx context.Context, o BuildOptions, work, identity string, link []string, have func(units []string) error) (string, error) {
	units, err := p.unpack(work)
	if err != nil {
		return "", err
	}
	if err := have(units); err != nil {
		return "", err
	}
	flags := o.CFlags
	o.CFlags = append(slices.Clone(flags), `-DMT_LIBRARY_IDENTITY="`+identity+`"`)
	objects, err := p.compileUnits(ctx, o, work, units)
	if err != nil {
		return "", err
	}
	out := filepath.Join(work, "out")
	if _, err := o.run(ctx, slices.Concat(flags, objects, link, []string{"-o", out})...); err != nil {
		return "", err
	}
	return out, checkSymbols(out)
}

// abandonedAfter is the age at which a build directory counts as left behind by
// a killed program. Builds take minutes.
const abandonedAfter = time.Hour

// removeAbandoned removes the directories that interrupted programs left in the
// cache: those of builds, of compiler probes, and of `mpitrace doctor`.
func removeAbandoned(dir string) {
	for _, pattern := range []string{"build-*", "mpitrace-probe-*", "doctor-*"} {
		left, _ := filepath.Glob(filepath.Join(dir, pattern)) // not cleaned if dir contains pattern characters
		for _, path := range left {
			if info, err := os.Lstat(path); err == nil && info.IsDir() && time.Since(info.ModTime()) > abandonedAfter {
				_ = os.RemoveAll(path) // an error is harmless
			}
		}
	}
}

// unpack writes the sources to work, and returns the files to compile.
func (p *Product) unpack(work string) (units []string, err error) {
	files, err := p.sources()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name := strings.TrimPrefix(f.name, p.dir+"/")
		path := filepath.Join(work, filepath.FromSlash(strings.TrimPrefix(name, library.dir+"/")))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, f.text, 0o600); err != nil {
			return nil, err
		}
		if strings.HasSuffix(path, ".c") && (p.units == nil || p.units(name)) {
			units = append(units, path)
		}
	}
	return units, nil
}

// compileUnits compiles the sources in parallel, and returns the object files.
func (p *Product) compileUnits(ctx context.Context, o BuildOptions, work string, units []string) ([]string, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	objects := make([]string, len(units))
	var mu sync.Mutex
	compiled := 0
	for i, unit := range units {
		objects[i] = strings.TrimSuffix(unit, ".c") + ".o"
		args := slices.Concat(p.compile, []string{"-I" + work, `-DMT_TOOL_VERSION="` + layout.ToolVersion + `"`},
			o.CFlags, []string{"-c", unit, "-o", objects[i]})
		group.Go(func() error {
			_, err := o.run(ctx, args...)
			if err == nil && o.Progress != nil {
				mu.Lock()
				defer mu.Unlock()
				compiled++
				o.Progress(compiled, len(units))
			}
			return err
		})
	}
	return objects, group.Wait()
}

package interpose

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// product is something that is compiled of sources of ours with an MPI's own
// compiler wrapper, and kept in the user's cache.
type product struct {
	what    string // for people
	dir     string // of its sources
	name    string // of the file; %s is its identity
	compile []string
	link    []string
	linked  bool                    // to the MPI, as it is a program of its own
	check   func(file string) error // of what was linked, may be nil
}

// build compiles the product for an MPI, or finds it in the cache.
func (p *product) build(ctx context.Context, o BuildOptions) (string, error) {
	file, err := p.path(o)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err == nil {
		return file, CheckLibrary(file)
	}
	if o.Log != nil {
		fmt.Fprintf(o.Log, "mpitrace: building %s with %s (first time)\n", p.what, o.CC)
	}
	if err := p.make(ctx, o, file); err != nil {
		return "", fmt.Errorf("build %s: %w", p.what, err)
	}
	return file, nil
}

// path is where the product for an MPI is, or will be.
func (p *product) path(o BuildOptions) (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	key, err := p.identity(o)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf(p.name, key)), nil
}

// identity hashes what the product depends on: our sources, the flags, the
// compiler wrapper, and the MPI library as it is now.
func (p *product) identity(o BuildOptions) (string, error) {
	h := sha256.New()
	names, err := p.sources()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", name, len(text))
		h.Write(text)
	}
	fmt.Fprintln(h, Version, o.CC, p.compile, p.link, o.CFlags)
	for _, path := range []string{o.CC, o.MPI} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if info, err := os.Stat(real); err == nil {
			fmt.Fprintln(h, real, info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// sources are the embedded files that the product is made of, sorted.
func (p *product) sources() ([]string, error) {
	entries, err := sources.ReadDir(p.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, p.dir+"/"+e.Name())
	}
	return names, nil
}

// make compiles and links in a directory beside the file, which is renamed into
// its place.
func (p *product) make(ctx context.Context, o BuildOptions, file string) error {
	work, err := os.MkdirTemp(filepath.Dir(file), "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	units, err := p.unpack(work)
	if err != nil {
		return err
	}
	if err := o.writeHave(ctx, work); err != nil {
		return err
	}
	objects, err := p.compileUnits(ctx, o, work, units)
	if err != nil {
		return err
	}
	out := filepath.Join(work, "out")
	if _, err := o.run(ctx, slices.Concat(o.CFlags, objects, p.linkFlags(o), []string{"-o", out})...); err != nil {
		return err
	}
	if p.check != nil {
		if err := p.check(out); err != nil {
			return err
		}
	}
	if err := os.Chmod(out, 0o755); err != nil { // whatever the umask is
		return err
	}
	return os.Rename(out, file)
}

// linkFlags make a program load the MPI that it was built for, whatever
// LD_LIBRARY_PATH has.
func (p *product) linkFlags(o BuildOptions) []string {
	if !p.linked || o.MPI == "" {
		return p.link
	}
	return slices.Concat(p.link, []string{"-Xlinker", "--disable-new-dtags", "-Xlinker", "-rpath", "-Xlinker", filepath.Dir(o.MPI)})
}

// unpack writes the sources and tells the files to compile.
func (p *product) unpack(work string) (units []string, err error) {
	names, err := p.sources()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(work, filepath.Base(name))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
		if strings.HasSuffix(path, ".c") {
			units = append(units, path)
		}
	}
	return units, nil
}

// compileUnits compiles the sources side by side and returns the objects.
func (p *product) compileUnits(ctx context.Context, o BuildOptions, work string, units []string) ([]string, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	objects := make([]string, len(units))
	for i, unit := range units {
		objects[i] = strings.TrimSuffix(unit, ".c") + ".o"
		args := slices.Concat(p.compile, []string{"-I" + work, `-DMT_TOOL_VERSION="` + Version + `"`},
			o.CFlags, []string{"-c", unit, "-o", objects[i]})
		group.Go(func() error {
			_, err := o.run(ctx, args...)
			return err
		})
	}
	return objects, group.Wait()
}

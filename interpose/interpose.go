// Package interpose makes the library that runs inside the application: it
// holds the C sources and compiles them, once for each MPI, with that MPI's
// own compiler wrapper.
package interpose

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/interpose/calls"
)

//go:embed src
var sources embed.FS

// Version is the version of the tool, kept in each recording.
const Version = "0.1.0"

// BuildOptions say for which MPI the library is to be built, and how.
type BuildOptions struct {
	CC     string   // the MPI's compiler wrapper (mpicc)
	MPI    string   // path of the MPI's shared library: part of the identity, may be empty
	CFlags []string // further flags, such as -fsanitize=address
	Log    io.Writer
}

// compileFlags: the fast path wants thread-local data at a fixed offset and no
// calls through the PLT; everything but MPI's own names stays hidden.
var compileFlags = []string{"-std=gnu11", "-O2", "-g1", "-fPIC", "-fvisibility=hidden",
	"-ftls-model=initial-exec", "-fno-plt", "-fno-strict-aliasing", "-Wall", "-Wextra",
	"-Wno-deprecated-declarations"}

// linkFlags: the wrapper would link the MPI, which the library must not need.
// What our code calls by an exported name is our own.
var linkFlags = []string{"-Wl,--as-needed", "-Wl,-Bsymbolic-functions", "-ldl", "-lpthread"}

// Build compiles the library for an MPI into the user's cache, or finds it
// there, and returns its path. The name of the file tells all that went in.
func Build(ctx context.Context, o BuildOptions) (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	key, err := o.identity()
	if err != nil {
		return "", err
	}
	lib := filepath.Join(dir, "libmpitrace-"+key+".so")
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if o.Log != nil {
		fmt.Fprintf(o.Log, "mpitrace: building the library with %s (first time)\n", o.CC)
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return "", fmt.Errorf("build library: %w", err)
	}
	defer os.RemoveAll(work)
	return lib, o.compile(ctx, work, lib)
}

// cacheDir is mpitrace's own directory in the user's cache. What is in it will
// be loaded into programs: nobody else may write there.
func cacheDir() (string, error) {
	dir := os.Getenv("MPITRACE_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find cache directory: %w (set MPITRACE_CACHE)", err)
		}
		dir = filepath.Join(user, "mpitrace")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make cache directory: %w (set MPITRACE_CACHE)", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("cache directory %s can be written by others: chmod go-w it", dir)
	}
	if strings.ContainsAny(dir, " :\t\n") {
		return "", fmt.Errorf("cache directory %q: a preloaded library's path may hold no space or colon (set MPITRACE_CACHE)", dir)
	}
	return dir, nil
}

// identity hashes what the library depends on: our sources, the flags, the
// compiler wrapper, and the MPI library as it is now.
func (o BuildOptions) identity() (string, error) {
	h := sha256.New()
	names, err := sourceNames()
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
	fmt.Fprintln(h, Version, o.CC, compileFlags, linkFlags, o.CFlags)
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

func sourceNames() ([]string, error) {
	entries, err := sources.ReadDir("src")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, "src/"+e.Name())
	}
	sort.Strings(names)
	return names, nil
}

func (o BuildOptions) compile(ctx context.Context, work, lib string) error {
	names, err := sourceNames()
	if err != nil {
		return err
	}
	var units []string
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(work, filepath.Base(name))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return fmt.Errorf("build library: %w", err)
		}
		if strings.HasSuffix(path, ".c") {
			units = append(units, path)
		}
	}
	if err := o.writeHave(ctx, work); err != nil {
		return err
	}
	out := filepath.Join(work, "lib.so")
	objects, err := o.compileUnits(ctx, work, units)
	if err != nil {
		return err
	}
	args := append(append([]string{"-shared"}, o.CFlags...), objects...)
	if _, err := o.run(ctx, append(append(args, linkFlags...), "-o", out)...); err != nil {
		return err
	}
	if err := checkSymbols(out); err != nil {
		return err
	}
	return os.Rename(out, lib)
}

// compileUnits compiles the sources side by side and returns the objects.
func (o BuildOptions) compileUnits(ctx context.Context, work string, units []string) ([]string, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	objects := make([]string, len(units))
	for i, unit := range units {
		objects[i] = strings.TrimSuffix(unit, ".c") + ".o"
		args := append(append([]string{}, compileFlags...), "-I"+work, `-DMT_TOOL_VERSION="`+Version+`"`)
		args = append(append(args, o.CFlags...), "-c", unit, "-o", objects[i])
		group.Go(func() error {
			_, err := o.run(ctx, args...)
			return err
		})
	}
	return objects, group.Wait()
}

// probe makes the compiler wrapper say what its MPI has.
const probe = `#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
mpi_version MPI_VERSION.MPI_SUBVERSION
`

var (
	declared = regexp.MustCompile(`\bP(MPIX?_\w+)`)
	version  = regexp.MustCompile(`mpi_version (\d+) *\. *(\d+)`)
)

// declares finds out which functions the MPI's headers declare (by the symbols,
// MPI_Send_c), and which version of the Standard they are of.
func (o BuildOptions) declares(ctx context.Context, work string) (functions map[string]bool, standard string, err error) {
	source := filepath.Join(work, "probe.c")
	if err := os.WriteFile(source, []byte(probe), 0o600); err != nil {
		return nil, "", err
	}
	text, err := o.run(ctx, "-E", "-P", source)
	if err != nil {
		return nil, "", err
	}
	functions = map[string]bool{}
	for _, m := range declared.FindAllSubmatch(text, -1) {
		functions[string(m[1])] = true
	}
	if len(functions) == 0 {
		return nil, "", fmt.Errorf("build library: the mpi.h of %s declares no PMPI function", o.CC)
	}
	if m := version.FindSubmatch(text); m != nil {
		standard = fmt.Sprintf("%s.%s", m[1], m[2])
	}
	return functions, standard, nil
}

// writeHave tells the sources which functions of the table there are.
func (o BuildOptions) writeHave(ctx context.Context, work string) error {
	functions, _, err := o.declares(ctx, work)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, c := range calls.Table {
		for _, name := range append(c.Names(), c.Name+"_c") {
			if functions[calls.Symbol(name)] {
				fmt.Fprintf(&b, "#define MT_HAVE_%s 1\n", name)
			}
		}
	}
	return os.WriteFile(filepath.Join(work, "have.h"), b.Bytes(), 0o600)
}

func (o BuildOptions) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, o.CC, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build library: %s: %w\n%s", o.CC, err, bytes.TrimSpace(stderr.Bytes()))
	}
	if o.Log != nil && stderr.Len() > 0 {
		o.Log.Write(stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// checkSymbols makes sure that the library needs nothing of an MPI: a preload
// reaches programs that have none.
func checkSymbols(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("build library: %w", err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("build library: %w", err)
	}
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF && isMPI(s.Name) {
			return fmt.Errorf("build library: it would need %s from an MPI", s.Name)
		}
	}
	return nil
}

func isMPI(symbol string) bool {
	for _, prefix := range []string{"MPI_", "PMPI_", "MPIX_", "PMPIX_", "ompi_", "opal_", "MPIR_", "MPICH_"} {
		if strings.HasPrefix(symbol, prefix) {
			return true
		}
	}
	return false
}

// Package interpose builds the library that runs inside the application, and
// the program that lists an MPI's variables. It embeds the C sources and
// compiles them once for each MPI, with that MPI's own compiler wrapper.
package interpose

import (
	"bytes"
	"context"
	"debug/elf"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed src mpit
var sources embed.FS

// BuildOptions describes the MPI for which something is built, and how to build
// it.
type BuildOptions struct {
	CC      string   // the MPI's compiler wrapper (mpicc)
	MPI     string   // path of the MPI's shared library, part of the identity; may be empty
	CFlags  []string // additional flags, such as -fsanitize=address
	Compile bool     // compile the library even if there is a prebuilt one
	Dir     string   // directory of the result, to which only this user may write; empty: the user's cache
	Log     io.Writer
	// Progress is called after each compiled file with how many of the files are compiled, by one
	// goroutine at a time. It may be nil.
	Progress func(compiled, files int)
}

// library is the product of Build. The fast path needs thread-local data at a
// fixed offset (-ftls-model) and no calls through the PLT (-fno-plt). All
// symbols except MPI's are hidden. -Wl,--as-needed keeps the compiler wrapper
// from making the MPI a dependency. With -Bsymbolic, the library uses its own
// exported functions and thread-local data, whatever else the process defines.
// zig's linker removes sections that only their __start_ symbols refer to
// (src/base/hook.h).
var library = Product{
	what: "the library", dir: "src", name: "libmpitrace-%s.so",
	units: func(file string) bool { return !ofDispatcher(file) },
	compile: []string{"-std=gnu11", "-O2", "-g1", "-fPIC", "-fvisibility=hidden",
		"-ftls-model=initial-exec", "-fno-plt", "-fno-strict-aliasing", "-Wall", "-Wextra",
		"-Wno-deprecated-declarations"},
	link:         []string{"-shared", "-Wl,--as-needed", "-Wl,-Bsymbolic", "-ldl", "-lpthread"},
	packed:       "libmpitrace-%s-%s-%x.so.zst",
	prebuildLink: []string{"-shared", "-s", "-Wl,-Bsymbolic", "-Wl,--no-gc-sections", "-ldl", "-lpthread"},
}

// Build returns the path of the library for an MPI. Unless it is already in the
// user's cache, Build writes the prebuilt library there, or compiles it. The
// file name contains the identity of the library.
func Build(ctx context.Context, o BuildOptions) (string, error) { return library.build(ctx, o) }

// NoRoomError is the error for a missing directory to build in: there is no
// home directory, or it is not writable.
type NoRoomError struct{ Err error }

func (e *NoRoomError) Error() string { return e.Err.Error() }
func (e *NoRoomError) Unwrap() error { return e.Err }

// CacheDir returns mpitrace's own directory in the user's cache, and makes it if it does
// not exist. Since its files are loaded into programs, only this user may write to it.
func CacheDir() (string, error) {
	dir := os.Getenv("MPITRACE_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", &NoRoomError{fmt.Errorf("find cache directory: %w (set MPITRACE_CACHE)", err)}
		}
		dir = filepath.Join(user, "mpitrace")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(dir, separators) {
		return "", fmt.Errorf("cache directory %q: a preloaded library's path may hold no space or colon (set MPITRACE_CACHE)", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", &NoRoomError{fmt.Errorf("make cache directory: %w (set MPITRACE_CACHE)", err)}
	}
	if err := checkPlace(dir); err != nil {
		return "", fmt.Errorf("cache directory: %w (or set MPITRACE_CACHE)", err)
	}
	return dir, nil
}

// probe is a source whose preprocessed form shows what the MPI's headers
// declare.
const probe = `#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
mpi_version MPI_VERSION.MPI_SUBVERSION
#if defined(OPEN_MPI)
mpi_family is_OPENMPI
#elif defined(MPICH_VERSION) || defined(MPICH_NUMVERSION)
mpi_family is_MPICH
#elif defined(MPI_ABI_VERSION)
mpi_family is_ABI
#endif
`

var (
	declared = regexp.MustCompile(`\bP(MPIX?_\w+)`)
	version  = regexp.MustCompile(`mpi_version (\d+) *\. *(\d+)`)
	family   = regexp.MustCompile(`mpi_family is_(\w+)`)
)

// An mpiHeader is what an mpi.h declares.
type mpiHeader struct {
	functions map[string]bool // by symbol, such as MPI_Send_c
	standard  string          // version of the Standard
	family    string          // OPENMPI, MPICH or ABI, whose types src/base/abi_x.h has; or empty
}

func (o BuildOptions) readHeader(ctx context.Context, work string) (h mpiHeader, err error) {
	source := filepath.Join(work, "probe.c")
	if err := os.WriteFile(source, []byte(probe), 0o600); err != nil {
		return h, err
	}
	text, err := o.run(ctx, "-E", "-P", source)
	if err != nil {
		return h, err
	}
	h.functions = map[string]bool{}
	for _, m := range declared.FindAllSubmatch(text, -1) {
		h.functions[string(m[1])] = true
	}
	if len(h.functions) == 0 {
		return h, fmt.Errorf("the mpi.h of %s declares no PMPI function", o.CC)
	}
	if m := version.FindSubmatch(text); m != nil {
		h.standard = fmt.Sprintf("%s.%s", m[1], m[2])
	}
	if m := family.FindSubmatch(text); m != nil {
		h.family = string(m[1])
	}
	return h, nil
}

// writeHave writes have.h, from which the sources learn which functions the MPI
// has, and of which family it is. It defines macros such as MT_HAVE_Send_c and
// MT_ABI_MPICH.
func (o BuildOptions) writeHave(ctx context.Context, work string) error {
	h, err := o.readHeader(ctx, work)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if h.family != "" {
		fmt.Fprintf(&b, "#define MT_ABI_%s 1\n", h.family)
	}
	for _, symbol := range slices.Sorted(maps.Keys(h.functions)) {
		fmt.Fprintf(&b, "#define MT_HAVE_%s 1\n", strings.TrimPrefix(symbol, "MPI_"))
	}
	return os.WriteFile(filepath.Join(work, "have.h"), b.Bytes(), 0o600)
}

func (o BuildOptions) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, o.CC, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", o.CC, err, bytes.TrimSpace(stderr.Bytes()))
	}
	if o.Log != nil && stderr.Len() > 0 {
		o.Log.Write(stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// checkSymbols returns an error if the library needs a symbol of an MPI. It is
// also preloaded into programs without MPI.
func checkSymbols(path string) error {
	symbols, err := Symbols(path)
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return err
	}
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF && isMPI(s.Name) {
			return fmt.Errorf("it would need %s from an MPI", s.Name)
		}
	}
	return nil
}

func isMPI(symbol string) bool {
	return hasPrefix(symbol, "MPI_", "PMPI_", "MPIX_", "PMPIX_", "ompi_", "opal_", "MPIR_", "MPICH_")
}

// hasPrefix reports whether the text begins with one of the prefixes.
func hasPrefix(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// lister is the product of BuildLister.
var lister = Product{
	what: "the program that lists the MPI's variables", dir: "mpit", name: "mpitrace-vars-%s",
	shared:       []string{"src/base/abi*.h", "src/base/mpi_include.h"},
	perCopy:      true,
	compile:      []string{"-std=gnu11", "-O1", "-g1", "-Wall", "-Wextra", "-Wno-deprecated-declarations"},
	link:         []string{"-Wl,--as-needed", "-ldl"},
	packed:       "mpitrace-vars-%s-%s-%x.zst",
	prebuildLink: []string{"-s", "-ldl"},
}

// BuildLister returns the path of the program that lists an MPI's variables. Its
// first argument is the path of the MPI. BuildLister writes the prebuilt program
// to the user's cache, or else compiles it, unless it is already there.
func BuildLister(ctx context.Context, o BuildOptions) (string, error) { return lister.build(ctx, o) }

// HasLister reports whether BuildLister can build the program: there is a
// compiler wrapper or a prebuilt program.
func HasLister(o BuildOptions) bool { return o.CC != "" || lister.packedFor(o) != nil }

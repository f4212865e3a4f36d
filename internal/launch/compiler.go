package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
)

// MPI is an MPI installation that the library can be built for.
type MPI struct {
	Flavour rundir.Flavour `json:"flavour"`
	Version string         `json:"version"` // as in its mpi.h, such as "4.1.4"; empty if unknown
	Library string         `json:"library"` // path of the shared library, symbolic links resolved
	CC      string         `json:"cc"`      // compiler wrapper that links Library; empty if none was found
}

// String returns the installation's name for messages, such as "Open MPI
// 4.1.4".
func (m *MPI) String() string {
	return strings.TrimSpace(m.Flavour.Title() + " " + m.Version)
}

// NoCompilerError reports that no compiler wrapper links the wanted MPI.
type NoCompilerError struct {
	Wanted  string         // name or path of the MPI, for the message
	Flavour rundir.Flavour // flavour of the MPI, empty if unknown
	Library string         // path of the MPI library, empty if unknown
	Tried   []string       // wrappers that link another MPI: "/usr/bin/mpicc links /usr/lib/libmpich.so.12"
}

func (e *NoCompilerError) Error() string {
	msg := "no compiler wrapper (mpicc) found for " + e.Wanted
	if len(e.Tried) > 0 {
		msg += "; " + strings.Join(e.Tried, "; ")
	}
	return msg + ". Install the MPI's development files (Debian: libopenmpi-dev or libmpich-dev), load its module, or name its wrapper with --cc"
}

// probeSource is compiled to find out what a wrapper links. The result is never
// run: the loader lists its libraries, and the version is read from the file.
const probeSource = `#include <mpi.h>
#define STR_(x) #x
#define STR(x) STR_(x)
#if defined(OMPI_MAJOR_VERSION)
#define VERSION STR(OMPI_MAJOR_VERSION) "." STR(OMPI_MINOR_VERSION) "." STR(OMPI_RELEASE_VERSION)
#elif defined(I_MPI_VERSION)
#define VERSION I_MPI_VERSION
#elif defined(MVAPICH2_VERSION)
#define VERSION MVAPICH2_VERSION
#elif defined(MVAPICH_VERSION)
#define VERSION MVAPICH_VERSION
#elif defined(MPICH_VERSION)
#define VERSION MPICH_VERSION
#else
#define VERSION ""
#endif
__attribute__((used)) static const char probe[] = "mpitrace-probe:" VERSION;
int main(int argc, char **argv) { return MPI_Init(&argc, &argv); }
`

const probeMark = "mpitrace-probe:"

// probeTimeout limits the time for a wrapper that hangs, for example on a
// license server.
const probeTimeout = 2 * time.Minute

// Probe returns the MPI that a compiler wrapper links. It compiles a program
// with the wrapper, and does so only once per wrapper and process.
func Probe(cc string) (*MPI, error) {
	probes.Lock()
	defer probes.Unlock()
	if r, ok := probes.of[cc]; ok {
		return r.mpi, r.err
	}
	mpi, err := probe(cc, os.Environ())
	probes.of[cc] = probeResult{mpi, err}
	return mpi, err
}

type probeResult struct {
	mpi *MPI
	err error
}

var probes = struct {
	sync.Mutex
	of map[string]probeResult
}{of: map[string]probeResult{}}

func probe(cc string, env []string) (*MPI, error) {
	path, err := exec.LookPath(cc)
	if err != nil {
		return nil, fmt.Errorf("compiler wrapper: %w", err)
	}
	dir, remove, err := atomicfile.MakeTemporary(scratchDir(), "mpitrace-probe-")
	if err != nil {
		return nil, err
	}
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	bin, out, err := compileC(ctx, path, probeSource, dir, env)
	if err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return nil, fmt.Errorf("%s cannot compile an MPI program: %w: %s", path, err, line)
	}
	p, err := Inspect(bin)
	if err == nil {
		err = p.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("a program made by %s: %w", cc, err)
	}
	content, err := os.ReadFile(bin)
	return &MPI{Flavour: p.Flavour, Version: probedVersion(content), Library: p.Library, CC: path}, err
}

// compileC compiles a C program in a directory with a compiler wrapper. It returns
// the path of the program and what the wrapper printed.
func compileC(ctx context.Context, cc, text, dir string, env []string) (bin string, out []byte, err error) {
	source, bin := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, cc, source, "-o", bin)
	cmd.Dir, cmd.Env = dir, env
	out, err = cmd.CombinedOutput()
	return bin, out, err
}

// scratchDir returns the directory for compiled programs that the loader maps.
// It is in the user's cache because /tmp may be mounted noexec. It is empty,
// for the system's default, if there is no cache.
func scratchDir() string {
	dir, err := interpose.CacheDir()
	if err != nil {
		return ""
	}
	return dir
}

func probedVersion(content []byte) string {
	_, rest, found := bytes.Cut(content, []byte(probeMark))
	version, _, ok := bytes.Cut(rest, []byte{0})
	if !found || !ok || len(version) > 64 {
		return ""
	}
	return string(version)
}

// firstOf returns the first MPI that one of the wrappers links and that is wanted. If there is
// none, others has the MPIs that the wrappers link, and err is the error of the last wrapper that
// does not work.
func firstOf(wrappers []string, wanted func(*MPI) bool) (found *MPI, others []*MPI, err error) {
	for _, cc := range wrappers {
		switch mpi, probeErr := Probe(cc); {
		case probeErr != nil:
			err = probeErr
		case wanted(mpi):
			return mpi, nil, nil
		default:
			others = append(others, mpi)
		}
	}
	return nil, others, err
}

func anyMPI(*MPI) bool { return true }

// FindCompiler returns the MPI whose library is lib (symbolic links resolved)
// with a compiler wrapper that links it. It tries the wrappers in the library's
// own installation first, then those in PATH and the usual directories. It
// returns a *NoCompilerError if none links lib.
func FindCompiler(lib string, flavour rundir.Flavour) (*MPI, error) {
	if mpi := Known(lib); mpi != nil {
		return mpi, nil
	}
	found, others, _ := firstOf(compilersFor(lib, flavour), func(m *MPI) bool {
		// A wrapper of the standard ABI compiles the library for all MPIs that have it.
		return m.Library == lib || flavour == rundir.StandardABI && m.Flavour == flavour
	})
	if found == nil {
		missing := &NoCompilerError{Wanted: lib, Flavour: flavour, Library: lib}
		for _, m := range others {
			missing.Tried = append(missing.Tried, m.CC+" links "+m.Library)
		}
		return nil, missing
	}
	mpi := *found
	if flavour == rundir.StandardABI {
		mpi.Library, mpi.Version = lib, ""
	}
	Remember(&mpi)
	return &mpi, nil
}

// compilersFor lists the wrappers that may belong to a library, the most likely
// first.
func compilersFor(lib string, flavour rundir.Flavour) []string {
	var dirs []string
	for d := filepath.Dir(lib); d != "/" && d != "." && len(dirs) < 6; d = filepath.Dir(d) {
		dirs = append(dirs, filepath.Join(d, "bin"))
	}
	return existing(append(dirs, pathDirs()...), compilerNames(flavour))
}

// compilerNames returns the names that a flavour's wrapper may have. On Debian,
// the name contains the flavour.
func compilerNames(f rundir.Flavour) []string {
	switch f {
	case rundir.StandardABI:
		return []string{"mpicc_abi"}
	case rundir.IntelMPI:
		return []string{"mpiicx", "mpiicc", "mpigcc", "mpicc"}
	}
	return []string{"mpicc." + string(f), "mpicc"}
}

// usualDirs lists common directories of wrappers that are not in PATH until a
// module is loaded.
func usualDirs() []string {
	dirs := []string{"/usr/lib64/openmpi/bin", "/usr/lib64/mpich/bin", "/usr/lib/openmpi/bin", "/usr/lib/mpich/bin"}
	for _, v := range []string{"MPI_HOME", "MPI_ROOT", "I_MPI_ROOT", "OPAL_PREFIX"} {
		if root := os.Getenv(v); root != "" {
			dirs = append(dirs, filepath.Join(root, "bin"))
		}
	}
	return dirs
}

// existing lists the executable files dir/name, in the order of dirs and then
// of names.
func existing(dirs, names []string) []string {
	var files []string
	for _, dir := range dirs {
		for _, name := range names {
			file := filepath.Join(dir, name)
			if !slices.Contains(files, file) && executable(file) == nil {
				files = append(files, file)
			}
		}
	}
	return files
}

// FindAll lists the MPIs that have a compiler wrapper in PATH or in one of the
// usual directories, one per library. errs holds the errors of the wrappers
// that do not work.
func FindAll() (found []*MPI, errs []error) {
	var names []string
	for _, f := range flavours {
		for _, name := range compilerNames(f) {
			if f != rundir.StandardABI && name != "mpicc" {
				names = append(names, name)
			}
		}
	}
	// The plain name comes last because it may belong to another MPI later.
	names = append(names, "mpicc")
	for _, cc := range existing(pathDirs(), names) {
		mpi, err := Probe(cc)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !slices.ContainsFunc(found, func(m *MPI) bool { return m.Library == mpi.Library }):
			found = append(found, mpi)
		}
	}
	return found, errs
}

// ErrNoMPI reports that no MPI was named and none was found.
var ErrNoMPI = errors.New("no MPI found: no mpicc in PATH. Install one (Debian: libopenmpi-dev or libmpich-dev), " +
	"load its module, or name it with --mpi or its compiler wrapper with --cc")

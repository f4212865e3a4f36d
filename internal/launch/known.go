package launch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
)

// known is the cache entry of an MPI library: the wrapper that links it. The
// search for the wrapper takes several compilations, and ranks must not
// compile.
type known struct {
	MPI      MPI    `json:"mpi"`
	Compiler string `json:"compiler"` // identity of the wrapper, to detect that it was replaced
}

// Known returns what FindCompiler found for a library earlier, on any node that
// shares the user's cache. It returns nil if there is no entry, or if the
// library or the wrapper has changed since.
func Known(lib string) *MPI {
	path, err := knownFile(lib)
	if err != nil {
		return nil
	}
	mpi := readKnown(path)
	if mpi == nil || mpi.Library != lib {
		return nil
	}
	return mpi
}

// maxKnown is the size limit of a cache entry, in bytes.
const maxKnown = 1 << 20

func readKnown(path string) *MPI {
	b, err := atomicfile.Read(path, maxKnown)
	if err != nil {
		return nil
	}
	var k known
	if json.Unmarshal(b, &k) != nil || k.Compiler != identity(k.MPI.CC) {
		return nil
	}
	return &k.MPI
}

// Recall returns the MPIs in the cache that --mpi and --cc name. Unlike Detect
// it compiles nothing, so that ranks can use it. The order is that of their
// wrappers' directories in PATH; those not in PATH come last.
func Recall(override, cc string) []*MPI {
	return slices.DeleteFunc(Remembered(), func(m *MPI) bool { return !m.isNamed(override, cc) })
}

// Remembered returns all MPIs in the cache, in the order of Recall.
func Remembered() []*MPI {
	dir, err := interpose.CacheDir()
	if err != nil {
		return nil
	}
	var found []*MPI
	files, _ := filepath.Glob(filepath.Join(dir, "mpi-*.json"))
	for _, file := range files {
		mpi := readKnown(file)
		if mpi == nil {
			continue
		}
		if current, err := knownFile(mpi.Library); err == nil && current == file {
			found = append(found, mpi)
		}
	}
	slices.SortStableFunc(found, func(a, b *MPI) int { return cmp.Compare(pathPosition(a.CC), pathPosition(b.CC)) })
	return found
}

// pathPosition returns the position of a file's directory in PATH. A directory
// that is not in PATH comes after all others.
func pathPosition(file string) int {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if i := slices.Index(dirs, filepath.Dir(file)); i >= 0 {
		return i
	}
	return len(dirs)
}

// isNamed reports whether --mpi and --cc name this MPI, by compiler wrapper,
// flavour, library or prefix.
func (m *MPI) isNamed(override, cc string) bool {
	if cc != "" {
		path, err := exec.LookPath(cc)
		return err == nil && path == m.CC
	}
	if m.Flavour == rundir.Flavour(strings.ToLower(override)) {
		return true
	}
	path, err := filepath.Abs(override)
	return err == nil && (realPath(path) == m.Library || strings.HasPrefix(m.CC, path+"/"))
}

// LaunchedFlavour returns the flavour of the launcher that started this process
// as a rank, from the environment. It is empty if the environment does not show
// it.
func LaunchedFlavour() rundir.Flavour {
	switch {
	case os.Getenv("OMPI_COMM_WORLD_RANK") != "":
		return rundir.OpenMPI
	case os.Getenv("MV2_COMM_WORLD_RANK") != "":
		return rundir.MVAPICH
	case os.Getenv("HYDI_CONTROL_FD") != "":
		return rundir.MPICH
	case os.Getenv("I_MPI_HYDRA_UUID") != "":
		return rundir.IntelMPI
	}
	return ""
}

// Remember writes the entry that Known reads, unless there is one. It ignores
// errors: without a cache the search is repeated.
func Remember(mpi *MPI) {
	if mpi.Library == "" || mpi.CC == "" || Known(mpi.Library) != nil {
		return
	}
	path, err := knownFile(mpi.Library)
	if err != nil {
		return
	}
	b, err := json.Marshal(known{*mpi, identity(mpi.CC)})
	if err != nil {
		return
	}
	_ = atomicfile.WriteContent(path, b, 0o600)
}

// knownFile returns the path of a library's cache entry. The name changes when
// the library does.
func knownFile(lib string) (string, error) {
	dir, err := interpose.CacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(identity(lib)))
	return filepath.Join(dir, "mpi-"+hex.EncodeToString(sum[:8])+".json"), nil
}

// identity returns a text that changes when the file at path is replaced: its
// path, target, size and modification time.
func identity(path string) string {
	real := realPath(path)
	info, err := os.Stat(real)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s %s %d %d", path, real, info.Size(), info.ModTime().UnixNano())
}

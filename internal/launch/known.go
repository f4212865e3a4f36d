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
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/interpose"
)

// known is what the cache remembers of an MPI library: the wrapper that links
// it. Finding that takes several compilations, and ranks must not compile.
type known struct {
	MPI      MPI    `json:"mpi"`
	Compiler string `json:"compiler"` // identity of the wrapper: it may have been replaced
}

// Known is what FindCompiler found for a library before, on any node that
// shares the user's cache. nil if it never did, or if either has changed.
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

// maxKnown is the largest such file that is read.
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

// Recall answers --mpi and --cc as Detect does, but from memory, compiling
// nothing: for the ranks of a job. Those whose wrapper is in PATH come first.
func Recall(override, cc string) []*MPI {
	dir, err := interpose.CacheDir()
	if err != nil {
		return nil
	}
	var found []*MPI
	files, _ := filepath.Glob(filepath.Join(dir, "mpi-*.json"))
	for _, file := range files {
		mpi := readKnown(file)
		if mpi == nil || !mpi.is(override, cc) {
			continue
		}
		if current, err := knownFile(mpi.Library); err == nil && current == file {
			found = append(found, mpi)
		}
	}
	slices.SortStableFunc(found, func(a, b *MPI) int { return cmp.Compare(pathPosition(a.CC), pathPosition(b.CC)) })
	return found
}

// pathPosition is where in PATH a file's directory stands; after all if it
// does not.
func pathPosition(file string) int {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	if i := slices.Index(dirs, filepath.Dir(file)); i >= 0 {
		return i
	}
	return len(dirs)
}

// is tells whether an MPI is the one that --mpi and --cc name: by compiler
// wrapper, flavour, library or prefix.
func (m *MPI) is(override, cc string) bool {
	if cc != "" {
		path, err := exec.LookPath(cc)
		return err == nil && path == m.CC
	}
	if m.Flavour == run.Flavour(strings.ToLower(override)) {
		return true
	}
	path, err := filepath.Abs(override)
	return err == nil && (realPath(path) == m.Library || strings.HasPrefix(m.CC, path+"/"))
}

// LaunchedFlavour is the MPI whose launcher started this process as a rank, as
// far as its environment tells; empty if that is open.
func LaunchedFlavour() run.Flavour {
	switch {
	case os.Getenv("OMPI_COMM_WORLD_RANK") != "":
		return run.OpenMPI
	case os.Getenv("MV2_COMM_WORLD_RANK") != "":
		return run.MVAPICH
	case os.Getenv("HYDI_CONTROL_FD") != "":
		return run.MPICH
	}
	return ""
}

// Remember writes what Known reads, unless that is known already. Without a
// cache there is just no memory.
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

// knownFile is named by the library as it is now.
func knownFile(lib string) (string, error) {
	dir, err := interpose.CacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(identity(lib)))
	return filepath.Join(dir, "mpi-"+hex.EncodeToString(sum[:8])+".json"), nil
}

// identity tells a file from what may replace it.
func identity(path string) string {
	real := realPath(path)
	info, err := os.Stat(real)
	if err != nil {
		return path
	}
	return fmt.Sprintf("%s %s %d %d", path, real, info.Size(), info.ModTime().UnixNano())
}

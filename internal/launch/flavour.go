package launch

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
)

// flavours are the flavours that --mpi accepts.
var flavours = []rundir.Flavour{rundir.OpenMPI, rundir.MPICH, rundir.IntelMPI, rundir.MVAPICH, rundir.StandardABI}

// mayBeMPI reports whether a shared library has a name that MPIs use. Cray's
// are libmpi_cray.so and libmpi_gnu_91.so, for example, and HPE's is libmpt.so.
func mayBeMPI(soname string) bool {
	return slices.ContainsFunc([]string{"libmpi", "libpmpi", "libmpt"}, func(prefix string) bool { return strings.HasPrefix(soname, prefix) })
}

// FlavourOf returns the flavour of an MPI library, from its dynamic symbols. ok
// is false if the file is not an MPI library, or is only a language binding of
// one (libmpi_mpifh.so, libmpichcxx.so), which does not define PMPI_Init.
func FlavourOf(path string) (f rundir.Flavour, ok bool) {
	symbols, _ := interpose.Symbols(path) // without symbols it is no MPI library
	f = rundir.Unknown
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			continue
		}
		switch {
		case s.Name == "PMPI_Init":
			ok = true
		case s.Name == "ompi_mpi_comm_world":
			f = rundir.OpenMPI
		case strings.HasPrefix(s.Name, "I_MPI_") || strings.HasPrefix(s.Name, "impi_"):
			f = rundir.IntelMPI
		case f == rundir.Unknown && (strings.HasPrefix(s.Name, "MPIR_") || strings.HasPrefix(s.Name, "MPICH")):
			f = rundir.MPICH
		case f != rundir.IntelMPI && (strings.HasPrefix(s.Name, "MV2_") || strings.HasPrefix(s.Name, "mv2_") || strings.HasPrefix(s.Name, "MVP_")):
			f = rundir.MVAPICH
		}
	}
	if ok && strings.HasPrefix(filepath.Base(path), "libmpi_abi.") {
		f = rundir.StandardABI
	}
	return f, ok
}

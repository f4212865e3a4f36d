package launch

import (
	"debug/elf"
	"path/filepath"
	"strings"
)

// Flavour is a family of MPI libraries whose handles and constants are alike.
type Flavour string

const (
	OpenMPI     Flavour = "openmpi"
	MPICH       Flavour = "mpich"
	IntelMPI    Flavour = "intelmpi"
	MVAPICH     Flavour = "mvapich"
	StandardABI Flavour = "mpi-abi" // the ABI of MPI 5, on any implementation
	Unknown     Flavour = "mpi"
)

var titles = map[Flavour]string{OpenMPI: "Open MPI", MPICH: "MPICH", IntelMPI: "Intel MPI",
	MVAPICH: "MVAPICH", StandardABI: "MPI with the standard ABI", Unknown: "MPI"}

// Title is the flavour's name for people.
func (f Flavour) Title() string { return titles[f] }

// flavours are the names that --mpi takes.
var flavours = []Flavour{OpenMPI, MPICH, IntelMPI, MVAPICH, StandardABI}

// mayBeMPI tells whether a shared library's name is one that MPIs use. Cray's
// are libmpi_cray.so, libmpi_gnu_91.so; HPE's is libmpt.so.
func mayBeMPI(soname string) bool {
	for _, prefix := range []string{"libmpi", "libpmpi", "libmpt"} {
		if strings.HasPrefix(soname, prefix) {
			return true
		}
	}
	return false
}

// FlavourOf reads from a shared library's dynamic symbols which MPI it is. ok
// is false if it is no MPI library, or only a binding of one (libmpi_mpifh.so,
// libmpichcxx.so), which has no PMPI_Init.
func FlavourOf(path string) (f Flavour, ok bool) {
	bin, err := elf.Open(path)
	if err != nil {
		return "", false
	}
	defer bin.Close()
	symbols, err := bin.DynamicSymbols()
	if err != nil {
		return "", false
	}
	return flavourOf(filepath.Base(path), symbols)
}

func flavourOf(name string, symbols []elf.Symbol) (Flavour, bool) {
	var isMPI bool
	found := Unknown
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF {
			continue
		}
		switch {
		case s.Name == "PMPI_Init":
			isMPI = true
		case s.Name == "ompi_mpi_comm_world":
			found = OpenMPI
		case strings.HasPrefix(s.Name, "I_MPI_") || strings.HasPrefix(s.Name, "impi_"):
			found = IntelMPI
		case found == Unknown && (strings.HasPrefix(s.Name, "MPIR_") || strings.HasPrefix(s.Name, "MPICH")):
			found = MPICH
		case found != IntelMPI && (strings.HasPrefix(s.Name, "MV2_") || strings.HasPrefix(s.Name, "mv2_") || strings.HasPrefix(s.Name, "MVP_")):
			found = MVAPICH
		}
	}
	if isMPI && strings.HasPrefix(name, "libmpi_abi.") {
		found = StandardABI
	}
	return found, isMPI
}

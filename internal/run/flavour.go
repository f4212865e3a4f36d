package run

// Flavour is a family of MPI libraries with the same ABI: the same handles and
// constants.
type Flavour string

const (
	OpenMPI     Flavour = "openmpi"
	MPICH       Flavour = "mpich"
	IntelMPI    Flavour = "intelmpi"
	MVAPICH     Flavour = "mvapich"
	StandardABI Flavour = "mpi-abi" // the ABI of MPI 5.0, in any implementation
	Unknown     Flavour = "mpi"
)

var titles = map[Flavour]string{OpenMPI: "Open MPI", MPICH: "MPICH", IntelMPI: "Intel MPI",
	MVAPICH: "MVAPICH", StandardABI: "MPI with the standard ABI", Unknown: "MPI"}

// Title returns the flavour's name for messages.
func (f Flavour) Title() string { return titles[f] }

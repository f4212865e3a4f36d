package run

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

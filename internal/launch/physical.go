package launch

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/run"
)

// physicalDir is where the files go in a run directory: rundir.Dir.Physical.
const physicalDir = "physical"

// Open MPI's component pml/monitoring counts the messages of a process by peer,
// the program's (E) apart from its own (I), and writes them into
// <filename>.<rank>.prof in MPI_Finalize. It does not work without
// coll/monitoring: programs then end in MPI_Comm_free. osc/monitoring it does not
// need, which keeps programs from windows of shared memory.
const (
	mcaPML        = "OMPI_MCA_pml"
	mcaColl       = "OMPI_MCA_coll"
	mcaOSC        = "OMPI_MCA_osc"
	mcaMonitoring = "OMPI_MCA_pml_monitoring_"
	mcaFilename   = mcaMonitoring + "filename"
	monitoring    = "monitoring"
)

// CheckPhysical refuses an MPI that does not tell what it sends.
func CheckPhysical(f run.Flavour) error {
	if f == run.OpenMPI {
		return nil
	}
	return fmt.Errorf("--physical: %s does not count the messages that it sends on its own behalf: only Open MPI does, in its component pml/monitoring", f.Title())
}

// envPhysical tells the library in the process to name the file.
const envPhysical = "MPITRACE_PHYSICAL"

// countsPhysical tells whether what the MPI library itself sends is recorded.
func (r *Recorder) countsPhysical() bool {
	return r.Flavour == run.OpenMPI && r.Settings.Of("physical").On()
}

// physical switches the component on. The library inside the process names the
// file for the recording; where it comes too late, since the program had the
// settings read before MPI_Init, the file has the name of the process.
func (r *Recorder) physical(env []string) []string {
	if !r.countsPhysical() || leftOut(env) != "" {
		return unsetenv(env, envPhysical)
	}
	env = setenv(env, envPhysical, "on")
	for _, s := range r.monitoring() {
		env = setenv(env, s.name, s.value)
	}
	for _, name := range []string{mcaPML, mcaColl} {
		if list := getenv(env, name); list != "" && list[0] != '^' && !lists(list) {
			env = setenv(env, name, list+","+monitoring) // beside what is chosen
		}
	}
	switch list := getenv(env, mcaOSC); {
	case list == "":
		env = setenv(env, mcaOSC, "^"+monitoring)
	case list[0] == '^' && !lists(list):
		env = setenv(env, mcaOSC, list+","+monitoring)
	}
	return env
}

// lists tells whether a list of components, or of those to leave out, names the
// monitoring.
func lists(list string) bool {
	return slices.Contains(strings.Split(strings.TrimPrefix(list, "^"), ","), monitoring)
}

// leftOut is the setting by which the user left the component out; empty if
// there is none.
func leftOut(env []string) string {
	for _, name := range []string{mcaPML, mcaColl} {
		if list := getenv(env, name); strings.HasPrefix(list, "^") && lists(list) {
			return strings.TrimPrefix(name, "OMPI_MCA_") + " is " + list
		}
	}
	return ""
}

// setting is a variable of the environment.
type setting struct{ name, value string }

// monitoring are the component's: 2 tells messages of the program and of the
// library apart, 3 writes a file.
func (r *Recorder) monitoring() []setting {
	host, _ := os.Hostname()
	process := fmt.Sprintf("%s-%d", strings.ReplaceAll(host, "/", "_"), os.Getpid())
	return []setting{{mcaMonitoring + "enable", "2"}, {mcaMonitoring + "enable_output", "3"},
		{mcaFilename, filepath.Join(r.Dir, physicalDir, process)}}
}

// Overridden says which settings in an environment are others in the job, or
// keep the component from working; empty if there are none.
func (r *Recorder) Overridden(env []string) string {
	if !r.countsPhysical() {
		return ""
	}
	if why := leftOut(env); why != "" {
		return "--physical: " + why + ", which leaves the monitoring out: what the library sends will not be known"
	}
	var said []string
	for _, s := range r.monitoring() {
		old := getenv(env, s.name)
		switch {
		case old == "" || old == s.value:
		case s.name == mcaFilename:
			said = append(said, fmt.Sprintf("pml_monitoring_filename is not %s: the files are in %s", old, filepath.Dir(s.value)))
		default:
			said = append(said, fmt.Sprintf("%s is %s, not %s", strings.TrimPrefix(s.name, "OMPI_MCA_"), s.value, old))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "--physical: " + strings.Join(said, "; ")
}

// faulty matches functions of which some uses end programs under Open MPI's
// monitoring, 4.1.4's or 5.0.11's: docs/mpi_t.md says which.
var faulty = regexp.MustCompile(`^(?i:MPI_(I?neighbor_|Intercomm_create|Comm_spawn|Comm_accept|Comm_connect|Comm_join|Session_init|T_finalize))`)

// PhysicalRisk says which functions of a program Open MPI's monitoring may end it
// in; empty if there are none, or the file cannot be read.
func (r *Recorder) PhysicalRisk(file string) string {
	if !r.countsPhysical() {
		return ""
	}
	bin, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer bin.Close()
	symbols, err := bin.ImportedSymbols()
	if err != nil {
		return ""
	}
	var names []string
	for _, s := range symbols {
		if faulty.MatchString(s.Name) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("--physical: Open MPI's monitoring has faults that end programs in some uses of %s: if that happens, run it without", strings.Join(slices.Compact(names), ", "))
}

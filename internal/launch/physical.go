package launch

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
)

// Open MPI's component pml/monitoring counts the messages of a process per
// peer. It separates the program's messages (E) from the library's own (I) and
// writes both to <filename>.<rank>.prof in MPI_Finalize. It needs
// coll/monitoring: without that, programs end in MPI_Comm_free. It does not
// need osc/monitoring, which is left out because programs with it cannot use
// shared-memory windows.
const (
	mcaPML        = "OMPI_MCA_pml"
	mcaColl       = "OMPI_MCA_coll"
	mcaOSC        = "OMPI_MCA_osc"
	mcaMonitoring = "OMPI_MCA_pml_monitoring_"
	mcaFilename   = mcaMonitoring + "filename"
	monitoring    = "monitoring"
)

// CheckPhysical returns an error if an MPI cannot count the messages that it
// sends on its own behalf.
func CheckPhysical(f rundir.Flavour) error {
	if f == rundir.OpenMPI {
		return nil
	}
	return fmt.Errorf("--physical: %s does not count the messages that it sends on its own behalf: only Open MPI does, in its component pml/monitoring", f.Title())
}

// envPhysical tells the library in the process to set the name of the file.
const envPhysical = "MPITRACE_PHYSICAL"

// countsPhysical reports whether the messages of the MPI library itself are
// recorded.
func (r *Recorder) countsPhysical() bool {
	return r.Flavour == rundir.OpenMPI && r.Settings.Of("physical").On()
}

// physical returns env with the variables that enable the component. The
// library in the process later names the file after the recording. It cannot do
// so if the program made Open MPI read the variables before MPI_Init; the file
// then keeps the name given here, from the host and the process ID.
func (r *Recorder) physical(env []string) []string {
	if !r.countsPhysical() || leftOut(env) != "" {
		return unsetenv(env, envPhysical)
	}
	env = setenv(env, envPhysical, "on")
	for _, s := range r.monitoring() {
		env = setenv(env, s.name, s.value)
	}
	for _, name := range []string{mcaPML, mcaColl} {
		if list := getenv(env, name); list != "" && list[0] != '^' && !hasMonitoring(list) {
			env = setenv(env, name, list+","+monitoring) // in addition to the user's components
		}
	}
	switch list := getenv(env, mcaOSC); {
	case list == "":
		env = setenv(env, mcaOSC, "^"+monitoring)
	case list[0] == '^' && !hasMonitoring(list):
		env = setenv(env, mcaOSC, list+","+monitoring)
	}
	return env
}

// hasMonitoring reports whether a list of components, included or excluded (^),
// contains monitoring.
func hasMonitoring(list string) bool {
	return slices.Contains(strings.Split(strings.TrimPrefix(list, "^"), ","), monitoring)
}

// leftOut returns the user's setting that excludes the component, such as "pml
// is ^monitoring", or "" if there is none.
func leftOut(env []string) string {
	for _, name := range []string{mcaPML, mcaColl} {
		if list := getenv(env, name); strings.HasPrefix(list, "^") && hasMonitoring(list) {
			return strings.TrimPrefix(name, "OMPI_MCA_") + " is " + list
		}
	}
	return ""
}

// setting is an environment variable.
type setting struct{ name, value string }

// monitoring returns the component's variables. enable=2 counts the messages of
// the program and of the library separately; enable_output=3 writes a file.
func (r *Recorder) monitoring() []setting {
	host, _ := os.Hostname()
	process := fmt.Sprintf("%s-%d", strings.ReplaceAll(host, "/", "_"), os.Getpid())
	return []setting{{mcaMonitoring + "enable", "2"}, {mcaMonitoring + "enable_output", "3"},
		{mcaFilename, filepath.Join(rundir.Dir(r.Dir).Physical(), process)}}
}

// Overridden returns a warning about settings in env that the job replaces, or
// that disable the component. It is empty if there are none.
func (r *Recorder) Overridden(env []string) string {
	if !r.countsPhysical() {
		return ""
	}
	if why := leftOut(env); why != "" {
		return "--physical: " + why + ", which excludes the monitoring: the messages of the library are not counted"
	}
	var warnings []string
	for _, s := range r.monitoring() {
		old := getenv(env, s.name)
		switch {
		case old == "" || old == s.value:
		case s.name == mcaFilename:
			warnings = append(warnings, fmt.Sprintf("pml_monitoring_filename is not %s: the files are in %s", old, filepath.Dir(s.value)))
		default:
			warnings = append(warnings, fmt.Sprintf("%s is set to %s instead of %s", strings.TrimPrefix(s.name, "OMPI_MCA_"), s.value, old))
		}
	}
	if len(warnings) == 0 {
		return ""
	}
	return "--physical: " + strings.Join(warnings, "; ")
}

// riskyCalls matches functions that can end a program under the monitoring of Open
// MPI 4.1.4 or 5.0.11. docs/mpi_t.md lists the uses that do.
var riskyCalls = regexp.MustCompile(`^(?i:MPI_(I?neighbor_|Intercomm_create|Comm_spawn|Comm_accept|Comm_connect|Comm_join|Session_init|T_finalize))`)

// PhysicalRisk returns a warning with the functions of a program that can end
// it under Open MPI's monitoring. It is empty if there are none, or if the file
// cannot be read.
func (r *Recorder) PhysicalRisk(file string) string {
	if !r.countsPhysical() {
		return ""
	}
	symbols, _ := interpose.Symbols(file)
	var names []string
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF && elf.ST_BIND(s.Info) == elf.STB_GLOBAL && riskyCalls.MatchString(s.Name) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf("--physical: Open MPI's monitoring has errors that can end programs that use %s: if that happens, run them without --physical", strings.Join(slices.Compact(names), ", "))
}

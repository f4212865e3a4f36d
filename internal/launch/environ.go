package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/interpose"
)

// Environment variables that the library reads in addition to the settings.
const (
	EnvDir   = "MPITRACE_DIR"       // run directory
	EnvSpool = "MPITRACE_SPOOL_DIR" // private directory on this node, copied to the run directory afterwards
)

// NoteNested writes a note for the outer run, if this process is inside one,
// that dir holds the recordings of the nested run.
func NoteNested(dir rundir.Dir) {
	if outer := os.Getenv(EnvDir); outer != "" && outer != string(dir) {
		rundir.Dir(outer).NoteNested(string(dir))
	}
}

// Recorder holds what a process needs in order to be recorded.
type Recorder struct {
	Library string // path of libmpitrace-….so
	Flavour rundir.Flavour
	Dir     string // absolute path of the run directory
	Spool   string // spool directory on this node, empty for none
	// Dispatcher is the path of the library for all MPIs, which is preloaded into
	// programs that are linked to none. It is empty if the user named the MPI.
	Dispatcher string
	// Settings that nobody set leave the environment unchanged.
	Settings settings.Values
}

// Words returns the flags that give `mpitrace rank` the same Recorder.
func (r *Recorder) Words() []string {
	words := []string{"--lib", r.Library, "--mpi", string(r.Flavour), "--dir", r.Dir}
	if r.Spool != "" {
		words = append(words, "--spool", r.Spool)
	}
	if r.Dispatcher != "" {
		words = append(words, "--dispatcher", r.Dispatcher)
	}
	return append(words, r.Settings.Words()...)
}

// Environ returns env (in the form of os.Environ) with the variables of the
// recorder. The library is preloaded before the user's own libraries.
func (r *Recorder) Environ(env []string) []string {
	env = setenv(env, EnvDir, r.Dir)
	env = unsetenv(env, EnvSpool)
	if r.Spool != "" && atomicfile.CheckOwnDirectory(r.Spool) == nil {
		env = setenv(env, EnvSpool, r.Spool)
	}
	for _, v := range r.Settings.Told() {
		env = setenv(env, v.Env(), v.Text)
	}
	env = allowPreload(r.physical(env))
	return setenv(env, "LD_PRELOAD", preload(r.Library, getenv(env, "LD_PRELOAD")))
}

// preload puts the library in front of the libraries in old, an LD_PRELOAD list
// separated by colons or blanks. It removes the library of an outer `mpitrace
// run`, which may be for another MPI and would report that the program is not
// recorded.
func preload(lib, old string) string {
	words := []string{lib}
	for _, w := range strings.FieldsFunc(old, func(c rune) bool { return c == ':' || c == ' ' }) {
		if w != lib && !interpose.IsDispatcher(w) && !strings.HasPrefix(filepath.Base(w), "libmpitrace-") {
			words = append(words, w)
		}
	}
	return strings.Join(words, ":")
}

// allowPreload makes AddressSanitizer's runtime accept that another library is
// loaded before it. The variable is set for every program: one that was not built
// with AddressSanitizer may start one that was.
func allowPreload(env []string) []string {
	options := getenv(env, "ASAN_OPTIONS")
	if strings.Contains(options, "verify_asan_link_order") {
		return env
	}
	if options != "" {
		options += ":"
	}
	return setenv(env, "ASAN_OPTIONS", options+"verify_asan_link_order=0")
}

func getenv(env []string, name string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func setenv(env []string, name, value string) []string {
	return append(unsetenv(env, name), name+"="+value)
}

func unsetenv(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}

const (
	slurmRank = "SLURM_PROCID" // set in batch scripts, too
	slurmSize = "SLURM_STEP_NUM_TASKS"
)

// numberings are the environment variables in which launchers give a process its
// rank and the number of processes. ofMPI says that an MPI's own launcher sets them, and srun does
// not.
var numberings = []struct {
	rank, size string
	ofMPI      bool
}{
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", true},
	{"PMI_RANK", "PMI_SIZE", false},
	{"PMI_ID", "PMI_SIZE", false},
	{slurmRank, slurmSize, false},
	{"FLUX_TASK_RANK", "FLUX_JOB_SIZE", true},
	{"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", true},
	{"PALS_RANKID", "", true},
	{"PMIX_RANK", "", false},
}

// UnderLauncher reports whether a launcher started this process as an MPI
// process. mark is the environment variable that shows it.
//
// In Slurm's batch scripts SLURM_STEP_ID is missing or has a special number. The process of a step
// with one task does not count as an MPI process, because people work in such steps (srun --pty
// bash), although srun gives it the rank of each kind of MPI. If another launcher starts ranks in
// such a step, there are several.
func UnderLauncher() (mark string, ok bool) {
	inStep, oneTask := slurmStep() != "", os.Getenv(slurmSize) == "1"
	for _, n := range numberings {
		size := os.Getenv(n.size)
		switch {
		case os.Getenv(n.rank) == "", n.rank == slurmRank && !inStep:
		case inStep && oneTask && !n.ofMPI && (size == "" || size == "1"):
		default:
			return n.rank, true
		}
	}
	return "", false
}

// Numbered returns the rank of this process among those that a launcher started together, and their
// number. It returns 0 and 1 if there is no launcher. If the launcher does not give the number, it
// returns the rank plus 1.
func Numbered() (rank, size int) {
	for _, n := range numberings {
		rank, err := strconv.Atoi(os.Getenv(n.rank))
		if err != nil || rank < 0 {
			continue
		}
		size, _ := strconv.Atoi(os.Getenv(n.size)) // 0 if it is not given
		return rank, max(size, rank+1)
	}
	return 0, 1
}

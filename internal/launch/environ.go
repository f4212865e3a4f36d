package launch

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/settings"
)

// Names of the environment that the library reads beside those of settings.
const (
	EnvDir   = "MPITRACE_DIR"       // run directory
	EnvSpool = "MPITRACE_SPOOL_DIR" // private directory on this node that is collected afterwards
)

// Recorder is what a process needs in order to be recorded.
type Recorder struct {
	Library string // libmpitrace-….so
	Flavour run.Flavour
	Dir     string // run directory, absolute
	Spool   string // empty for none
	// Settings that nobody has made leave the environment as it is.
	Settings settings.Values
}

// Words are flags for `mpitrace rank`, by which it is the same recorder.
func (r *Recorder) Words() []string {
	words := []string{"--lib", r.Library, "--mpi", string(r.Flavour), "--dir", r.Dir}
	if r.Spool != "" {
		words = append(words, "--spool", r.Spool)
	}
	return append(words, r.Settings.Words()...)
}

// Environ is the environment env (as os.Environ has it) with the recorder in
// it: the library is loaded first, then what the user preloads.
func (r *Recorder) Environ(env []string) []string {
	env = setenv(env, EnvDir, r.Dir)
	env = unsetenv(env, EnvSpool)
	if r.Spool != "" && run.OwnDirectory(r.Spool) == nil {
		env = setenv(env, EnvSpool, r.Spool)
	}
	for _, v := range r.Settings.Told() {
		env = setenv(env, v.Env(), v.Text)
	}
	env = r.physical(env)
	return setenv(env, "LD_PRELOAD", preload(r.Library, getenv(env, "LD_PRELOAD")))
}

// preload puts the library in front of what is preloaded already, without the one
// of an outer `mpitrace run`, which may be for another MPI and would report that
// the program is not recorded. The loader separates by colons and blanks.
func preload(lib, old string) string {
	words := []string{lib}
	for _, w := range strings.FieldsFunc(old, func(c rune) bool { return c == ':' || c == ' ' }) {
		if w != lib && !strings.HasPrefix(filepath.Base(w), "libmpitrace-") {
			words = append(words, w)
		}
	}
	return strings.Join(words, ":")
}

// allowPreload tells AddressSanitizer's runtime to bear being loaded second.
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

func unsetenv(env []string, name string) []string {
	kept := make([]string, 0, len(env)+1)
	for _, v := range env {
		if !strings.HasPrefix(v, name+"=") {
			kept = append(kept, v)
		}
	}
	return kept
}

// rankMarks are the variables by which launchers tell a process its rank.
var rankMarks = []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PMI_ID", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "FLUX_TASK_RANK", "JSM_NAMESPACE_RANK"}

// UnderLauncher tells whether this process is one of those that a launcher
// started as MPI processes, and by which variable that is seen.
//
// Slurm sets SLURM_PROCID in batch scripts too, where SLURM_STEP_ID is missing
// or one of its special numbers; and a step of one task (srun --pty bash) is
// where people work, not one rank of a job.
func UnderLauncher() (mark string, ok bool) {
	for _, name := range rankMarks {
		if os.Getenv(name) != "" {
			return name, true
		}
	}
	if os.Getenv("SLURM_PROCID") != "" && slurmStep() != "" && os.Getenv("SLURM_STEP_NUM_TASKS") != "1" {
		return "SLURM_PROCID", true
	}
	return "", false
}

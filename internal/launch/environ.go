package launch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Names of the environment that the library reads.
const (
	EnvDir   = "MPITRACE_DIR"   // run directory
	EnvStack = "MPITRACE_STACK" // how many callers a call site is
	EnvSpool = "MPITRACE_SPOOL" // private directory on this node that is collected afterwards

	EnvInterval = "MPITRACE_INTERVAL" // a new slice each 100ms, 2s: whole ms or s
	EnvTiming   = "MPITRACE_TIMING"   // exact, sampled or off
	EnvReceives = "MPITRACE_RECEIVES" // on or off
)

// Recorder is what a process needs in order to be recorded.
type Recorder struct {
	Library string // libmpitrace-….so
	Flavour Flavour
	Dir     string // run directory, absolute
	Spool   string // empty for none

	Interval time.Duration // whole ms; 0 leaves the environment as it is
	Stack    int           // return addresses of a call site; 0 leaves what the environment says
	Timing   string        // as EnvTiming has it; empty leaves what the environment says
	Receives string        // as EnvReceives has it; empty likewise
}

// Environ is the environment env (as os.Environ has it) with the recorder in
// it: the library is loaded first, then what the user preloads.
func (r *Recorder) Environ(env []string) []string {
	env = setenv(env, EnvDir, r.Dir)
	if r.Stack > 0 {
		env = setenv(env, EnvStack, strconv.Itoa(r.Stack))
	}
	env = unsetenv(env, EnvSpool)
	if r.Spool != "" && ownDirectory(r.Spool) == nil {
		env = setenv(env, EnvSpool, r.Spool)
	}
	if r.Interval != 0 {
		env = setenv(env, EnvInterval, fmt.Sprintf("%dms", r.Interval.Milliseconds()))
	}
	if r.Timing != "" {
		env = setenv(env, EnvTiming, r.Timing)
	}
	if r.Receives != "" {
		env = setenv(env, EnvReceives, r.Receives)
	}
	return setenv(env, "LD_PRELOAD", preload(r.Library, getenv(env, "LD_PRELOAD")))
}

// preload puts the library in front of what is preloaded already. The loader
// separates by colons and blanks.
func preload(lib, old string) string {
	words := []string{lib}
	for _, w := range strings.FieldsFunc(old, func(c rune) bool { return c == ':' || c == ' ' }) {
		if w != lib {
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

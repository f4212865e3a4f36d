package launch

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// JobID is what the batch system calls the job that this process is in, with
// the step where there is one: "4711.0". Empty outside of a batch system.
func JobID() string {
	if id := os.Getenv("SLURM_JOB_ID"); id != "" {
		if step := slurmStep(); step != "" {
			return id + "." + step
		}
		return id
	}
	for _, name := range []string{"PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID"} {
		if id := os.Getenv(name); id != "" {
			return fileName(id)
		}
	}
	return ""
}

// LaunchID is a name that all processes of an MPI job get from their launcher,
// for those that have to agree on a directory without a batch system. A
// launcher that gives none has one parent process on each node.
func LaunchID() string {
	if id := JobID(); id != "" {
		return id
	}
	for _, name := range []string{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "PALS_APID"} {
		if id := os.Getenv(name); id != "" {
			return fileName(id)
		}
	}
	if port := hydraPort(); port != "" {
		return fileName(port)
	}
	return strconv.Itoa(os.Getppid())
}

// hydraPort is the control port in the command line of hydra's proxy, an
// ancestor of each of its ranks: the one thing that hydra makes known on all
// nodes. Empty if there is no such ancestor.
func hydraPort() string {
	for pid, up := os.Getppid(), 0; pid > 1 && up < 16; pid, up = parentOf(pid), up+1 {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			return ""
		}
		words := strings.Split(string(line), "\x00")
		if i := slices.Index(words, "--control-port"); i >= 0 && i+1 < len(words) {
			return words[i+1]
		}
	}
	return ""
}

// parentOf is a process's parent, 0 if that cannot be read.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything: count from its end.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return parent
}

// firstSpecialStep is where Slurm's numbers for batch scripts, interactive
// and external steps begin.
const firstSpecialStep = 0xfffffff0

// slurmStep is the number of the step that this process is in, empty if it is
// in none.
func slurmStep() string {
	step := os.Getenv("SLURM_STEP_ID")
	n, err := strconv.ParseUint(step, 10, 64)
	if err != nil || n >= firstSpecialStep {
		return ""
	}
	return step
}

// fileName makes a job's id fit for a file name: "12[3].server/x@1".
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', strings.ContainsRune("._-", r):
			return r
		}
		return '-'
	}, id)
}

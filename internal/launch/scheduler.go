package launch

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// JobID returns the batch system's ID of the job that contains this process. In
// a Slurm step the number of the step is appended: "4711.0". It is empty
// outside of a batch system.
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

// LaunchID returns a name that the launcher gives to all processes of an MPI
// job, so that they can agree on a directory without a batch system. If the
// launcher gives none, it is the ID of the parent process, which is the same
// for all processes of the job on one node.
func LaunchID() string {
	if id := JobID(); id != "" {
		return id
	}
	for _, name := range []string{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "PALS_APID", "I_MPI_HYDRA_UUID"} {
		if id := os.Getenv(name); id != "" {
			return fileName(id)
		}
	}
	if port := hydraPort(); port != "" {
		return fileName(port)
	}
	return strconv.Itoa(os.Getppid())
}

// hydraPort returns the control port in the command line of Hydra's proxy,
// which is an ancestor of each rank. Hydra makes nothing else known on all
// nodes. It is empty if there is no such ancestor.
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

// parentOf returns the ID of a process's parent, 0 if it cannot be read.
func parentOf(pid int) int {
	stat := rundir.ProcessStat(pid)
	if len(stat) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(stat[1])
	return parent
}

// firstSpecialStep is the first of the numbers that Slurm reserves for batch
// scripts, interactive steps and external steps.
const firstSpecialStep = 0xfffffff0

// slurmStep returns the number of the Slurm step that contains this process,
// empty if there is none.
func slurmStep() string {
	step := os.Getenv("SLURM_STEP_ID")
	n, err := strconv.ParseUint(step, 10, 64)
	if err != nil || n >= firstSpecialStep {
		return ""
	}
	return step
}

// fileName replaces the characters of a job ID that are unfit for a file name,
// as in "12[3].server/x@1".
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', strings.ContainsRune("._-", r):
			return r
		}
		return '-'
	}, id)
}

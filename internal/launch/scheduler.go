package launch

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// JobID returns the batch system's ID of the job that contains this process, empty
// outside of a batch system. In a Slurm step the number of the step is appended:
// "4711.0". If Slurm started the job again, the number of the restart is before
// the step: "4711-restart1.0".
func JobID() string {
	if id := os.Getenv("SLURM_JOB_ID"); id != "" {
		id += Restart()
		if step := slurmStep(); step != "" {
			return id + "." + step
		}
		return id
	}
	for _, s := range batchSystems {
		if id := os.Getenv(s.id); id != "" {
			return fileName(id)
		}
	}
	return ""
}

// batchSystems are the batch systems, with the environment variables that describe a job.
var batchSystems = []struct{ name, id, index, partition, nodes string }{
	{"Slurm", "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST"},
	{"PBS", "PBS_JOBID", "PBS_ARRAY_INDEX", "PBS_QUEUE", ""},
	{"LSF", "LSB_JOBID", "", "LSB_QUEUE", "LSB_HOSTS"},
	{"Flux", "FLUX_JOB_ID", "", "", ""},
	{"Cobalt", "COBALT_JOBID", "", "", ""},
}

// Batch returns the batch job that contains this process; nil if there is none.
func Batch() *rundir.BatchJob {
	for _, s := range batchSystems {
		if id := os.Getenv(s.id); id != "" {
			b := &rundir.BatchJob{System: s.name, ID: id, ArrayIndex: os.Getenv(s.index), Partition: os.Getenv(s.partition), Nodes: os.Getenv(s.nodes)}
			if s.name == "Slurm" {
				b.Step = slurmStep()
			}
			return b
		}
	}
	return nil
}

// Restart returns what distinguishes the runs of a job that Slurm started again, for
// names: "-restart1". It is empty at the first start.
func Restart() string {
	if n, err := strconv.ParseUint(os.Getenv("SLURM_RESTART_COUNT"), 10, 32); err == nil && n > 0 {
		return fmt.Sprintf("-restart%d", n)
	}
	return ""
}

// patterns are the letters of a file name that stand for something of the batch job, as in the
// names that users give sbatch, with the environment variables that hold it.
var patterns = map[byte]struct {
	what string
	from []string
}{
	'j': {"the id of a batch job", []string{"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID"}},
	'x': {"the name of a batch job", []string{"SLURM_JOB_NAME", "PBS_JOBNAME", "LSB_JOBNAME"}},
	'a': {"the index in an array of batch jobs", []string{"SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "LSB_JOBINDEX"}},
}

// ExpandName replaces %j, %x and %a in a name by the id, the name and the array index of the batch
// job, and %% by %. It returns an error for other letters, and outside of such a job.
func ExpandName(name string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			out.WriteByte(name[i])
			continue
		}
		if i++; i < len(name) && name[i] == '%' {
			out.WriteByte('%')
			continue
		}
		p, known := patterns[(name + "\x00")[i]]
		if !known {
			return "", fmt.Errorf("%s: after %%, a name may have j (the job's id), x (its name), a (the array index) or %%", name)
		}
		value := ""
		for _, from := range p.from {
			value = cmp.Or(value, os.Getenv(from))
		}
		if value == "" {
			return "", fmt.Errorf("%s: %%%c is %s, and this is none (%s is not set)", name, name[i], p.what, p.from[0])
		}
		out.WriteString(fileName(value))
	}
	return out.String(), nil
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

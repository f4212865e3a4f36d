package launch

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// System is a family of launchers with the same command line.
type System uint8

const (
	OtherLauncher   System = iota // starts MPI processes; its options are unknown
	OpenMPILauncher               // mpirun, orterun, prterun
	HydraLauncher                 // mpiexec.hydra of MPICH, Intel MPI, MVAPICH
	SlurmLauncher                 // srun
	FluxLauncher                  // flux run
)

// Launcher is a program that starts the processes of an MPI job.
type Launcher struct {
	System  System
	Path    string
	Version string // output of --version; empty if the name alone identified it
}

// flavours returns the MPIs that a launcher may come with, the most likely
// first. It returns nil for the launchers of a batch system.
func (l *Launcher) flavours() []rundir.Flavour {
	switch {
	case l.System == OpenMPILauncher:
		return []rundir.Flavour{rundir.OpenMPI}
	case l.System == HydraLauncher && strings.Contains(l.Version, "Intel"):
		return []rundir.Flavour{rundir.IntelMPI}
	case l.System == HydraLauncher:
		return []rundir.Flavour{rundir.MPICH, rundir.MVAPICH, rundir.IntelMPI}
	}
	return nil
}

// options returns the launcher's table of options, nil for an unknown launcher.
func (l *Launcher) options() *optionArity {
	switch l.System {
	case OpenMPILauncher:
		return openMPIOptions
	case HydraLauncher:
		return hydraOptions
	case SlurmLauncher:
		return slurmOptions
	case FluxLauncher:
		return fluxOptions
	}
	return nil
}

// systems lists the launchers that are identified by their name alone.
var systems = map[string]System{
	"orterun": OpenMPILauncher, "prterun": OpenMPILauncher, "oshrun": OpenMPILauncher, "shmemrun": OpenMPILauncher,
	"mpirun.openmpi": OpenMPILauncher, "mpiexec.openmpi": OpenMPILauncher,
	"mpiexec.hydra": HydraLauncher, "mpirun.hydra": HydraLauncher,
	"mpiexec.mpich": HydraLauncher, "mpirun.mpich": HydraLauncher, "mpiexec.gforker": HydraLauncher,
	"srun": SlurmLauncher, "flux": FluxLauncher,
	"aprun": OtherLauncher, "jsrun": OtherLauncher, "lrun": OtherLauncher, "palsrun": OtherLauncher,
	"prun": OtherLauncher, "ibrun": OtherLauncher, "mpirun_rsh": OtherLauncher, "mpiexec_mpt": OtherLauncher, "ccc_mprun": OtherLauncher,
}

// ambiguous lists the names that the launchers of all MPIs share.
var ambiguous = map[string]bool{"mpirun": true, "mpiexec": true}

// severalMPIs lists the names in systems that the launchers of several MPIs
// have. Their version tells which MPI it is.
var severalMPIs = map[string]bool{"mpiexec.hydra": true, "mpirun.hydra": true}

// queuers lists the commands that queue a job and return before it has run.
var queuers = map[string]bool{"sbatch": true, "qsub": true, "bsub": true, "msub": true}

// isLauncher reports whether a command has the name of a launcher.
func isLauncher(name string) bool {
	base := filepath.Base(name)
	_, known := systems[base]
	return known || ambiguous[base]
}

// versionTimeout limits the time for a launcher that does not know --version
// and tries to start a job.
const versionTimeout = 20 * time.Second

// findLauncher identifies a launcher by its name, or by the output of --version
// if the name does not decide.
func findLauncher(name string) (*Launcher, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	l := &Launcher{Path: path, System: systems[filepath.Base(name)]}
	if l.System != OtherLauncher && !severalMPIs[filepath.Base(name)] {
		return l, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	out, _ := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	l.Version = string(out)
	if l.System == OtherLauncher {
		l.System = systemOf(path, l.Version)
	}
	return l, nil
}

// systemOf identifies a launcher by the output of --version. Some installations
// cannot print it; then the name of the file behind the symbolic links decides.
func systemOf(path, version string) System {
	for _, known := range []struct {
		text   string
		system System
	}{
		{"Open MPI", OpenMPILauncher}, {"OpenRTE", OpenMPILauncher}, {"PRRTE", OpenMPILauncher}, {"prterun", OpenMPILauncher},
		{"HYDRA", HydraLauncher}, {"Intel(R) MPI", HydraLauncher}, {"slurm ", SlurmLauncher},
	} {
		if strings.Contains(version, known.text) {
			return known.system
		}
	}
	if system, ok := systems[filepath.Base(realPath(path))]; ok {
		return system
	}
	return OtherLauncher
}

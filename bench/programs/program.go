package programs

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A program is a command to measure, and how to start it.
type program struct {
	name     string
	launcher []string // without the number of ranks
	ranks    int
	command  []string
}

// melt is LAMMPS's benchmark input. It runs for about ten seconds.
const melt = `units           lj
atom_style      atomic
lattice         fcc 0.8442
region          box block 0 20 0 20 0 20
create_box      1 box
create_atoms    1 box
mass            1 1.0
velocity        all create 1.44 87287 loop geom
pair_style      lj/cut 2.5
pair_coeff      1 1 1.0 1.0 2.5
neighbor        0.3 bin
neigh_modify    every 20 delay 0 check no
fix             1 all nve
thermo          50
run             700
`

var (
	openMPI = []string{"mpirun.openmpi", "--oversubscribe"}
	mpich   = []string{"mpiexec.mpich"}
)

// installed lists the programs that Debian has. NetPIPE has a fixed number of
// repetitions (-n; for each size, seven times that): by default, it repeats for
// a given time.
var installed = []program{
	{"lammps-melt", openMPI, 4, []string{"lmp", "-in", "in.melt", "-log", "none"}},
	{"netpipe-openmpi", openMPI, 2, []string{"NPopenmpi", "-n", "600", "-u", "1048576", "-o", "np.out"}},
	{"netpipe-mpich", mpich, 2, []string{"NPmpich2", "-n", "200", "-u", "1048576", "-o", "np.out"}},
}

// parseProgram parses "NAME=COMMAND". It makes the path of the executable
// absolute, because programs run in a directory of their own.
func parseProgram(text string, launcher []string, ranks int) (program, error) {
	name, line, _ := strings.Cut(text, "=")
	command := strings.Fields(line)
	if name == "" || len(command) == 0 {
		return program{}, fmt.Errorf("%q is not NAME=COMMAND", text)
	}
	if strings.Contains(command[0], "/") {
		path, err := filepath.Abs(command[0])
		if err != nil {
			return program{}, err
		}
		command[0] = path
	}
	return program{name, launcher, ranks, command}, nil
}

// missing returns the first of the program's commands that is not installed, or
// "".
func (p program) missing() string {
	for _, word := range []string{p.launcher[0], p.command[0]} {
		if _, err := exec.LookPath(word); err != nil {
			return word
		}
	}
	return ""
}

// line returns the command that runs all ranks of the program.
func (p program) line() []string {
	return slices.Concat(p.launcher, []string{"-n", strconv.Itoa(p.ranks)}, p.command)
}

// lineVia returns the command that runs rank 0 by another command, via, and sets env for all ranks.
// The other ranks yield their processor to rank 0, because they poll while via slows it down.
func (p program) lineVia(via, env []string) []string {
	first := slices.Concat(p.launcher, []string{"-n", "1", "env"}, env, via, p.command)
	if p.ranks == 1 {
		return first
	}
	return slices.Concat(first, []string{":", "-n", strconv.Itoa(p.ranks - 1), "nice", "-n", "19", "env"}, env, p.command)
}

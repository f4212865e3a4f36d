package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// launchers puts a directory of fake launchers in front of PATH. Each only prints
// what the real one prints for --version.
func launchers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, version := range map[string]string{
		"mpirun":         "mpirun (Open MPI) 5.0.11",
		"mpirun.openmpi": "mpirun.openmpi (OpenRTE) 4.1.4",
		"orterun":        "orterun (OpenRTE) 4.1.4",
		"prterun":        "",
		"mpiexec":        "HYDRA build details:\n    Version:   5.0.2",
		"mpiexec.hydra":  "Intel(R) MPI Library for Linux* OS, Version 2021.11",
		"mpiexec.mpich":  "HYDRA build details:",
		"srun":           "slurm 22.05.8",
		"flux":           "",
		"sbatch":         "slurm 22.05.8",
		"app":            "",
		"env":            "",
		"timeout":        "",
	} {
		script := "#!/bin/sh\ncat <<'END'\n" + version + "\nEND\n"
		testenv.WriteProgram(t, filepath.Join(dir, name), script)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

// In the wanted command lines, @ stands for the words in front of a program.
var rewrites = []struct{ name, command, want string }{
	{"plain", "mpirun -n 4 ./app a b", "mpirun -n 4 @ -- ./app a b"},
	{"no options", "mpirun ./app", "mpirun @ -- ./app"},
	{"program's own options", "mpirun -np 4 ./app -n 5 --host x", "mpirun -np 4 @ -- ./app -n 5 --host x"},
	{"two arguments", "mpirun --mca btl self,tcp -n 2 ./app", "mpirun --mca btl self,tcp -n 2 @ -- ./app"},
	{"one dash, two arguments", "orterun -mca btl self -gmca a b ./app", "orterun -mca btl self -gmca a b @ -- ./app"},
	{"prterun", "prterun --prtemca a b --pmixmca c d --map-by core:PE=2 --bind-to core -n 4 ./app", "prterun --prtemca a b --pmixmca c d --map-by core:PE=2 --bind-to core -n 4 @ -- ./app"},
	{"flags", "mpirun.openmpi --oversubscribe --allow-run-as-root -q --tag-output -c 4 ./app", "mpirun.openmpi --oversubscribe --allow-run-as-root -q --tag-output -c 4 @ -- ./app"},
	{"exported variables", "mpirun -x LD_LIBRARY_PATH -x A=b -H n1,n2 -N 2 ./app", "mpirun -x LD_LIBRARY_PATH -x A=b -H n1,n2 -N 2 @ -- ./app"},
	{"MPMD", "mpirun -n 1 ./a x : -n 2 --mca p q ./b y z : ./c", "mpirun -n 1 @ -- ./a x : -n 2 --mca p q @ -- ./b y z : @ -- ./c"},
	{"attached value", "mpirun --map-by=node --timeout=60 ./app", "mpirun --map-by=node --timeout=60 @ -- ./app"},
	{"attached number", "mpirun -n4 ./app", "mpirun -n4 @ -- ./app"},
	{"unknown option, argument", "mpirun --brand-new 7 ./app", "mpirun --brand-new 7 @ -- ./app"},
	{"unknown option, then program", "mpirun --brand-new app 7", "mpirun --brand-new @ -- app 7"},
	{"unknown option, then option", "mpirun --brand-new -n 2 ./app", "mpirun --brand-new -n 2 @ -- ./app"},
	{"search path", "mpirun --path /opt/x/bin -n 2 prog", "mpirun --path /opt/x/bin -n 2 @ --path /opt/x/bin -- prog"},
	{"working directory", "mpirun --wdir /tmp -n 2 ./prog", "mpirun --wdir /tmp -n 2 @ -- ./prog"},
	{"interpreter", "mpirun -n 2 python3 x.py -n 3", "mpirun -n 2 @ -- python3 x.py -n 3"},
	{"double dash", "mpirun -n 2 -- ./app", "mpirun -n 2 -- @ -- ./app"},

	{"hydra", "mpiexec -n 4 ./app a", "mpiexec -n 4 @ -- ./app a"},
	{"hydra environment", "mpiexec -genv A 1 -genvlist B,C -env D 2 -n 4 ./app", "mpiexec -genv A 1 -genvlist B,C -env D 2 -n 4 @ -- ./app"},
	{"hydra hosts", "mpiexec.mpich -f hosts -ppn 2 -launcher ssh -launcher-exec /x/y -iface eth0 -n 4 ./app", "mpiexec.mpich -f hosts -ppn 2 -launcher ssh -launcher-exec /x/y -iface eth0 -n 4 @ -- ./app"},
	{"hydra flags", "mpiexec -genvnone -verbose -print-all-exitcodes -prepend-rank ./app", "mpiexec -genvnone -verbose -print-all-exitcodes -prepend-rank @ -- ./app"},
	{"hydra MPMD", "mpiexec -wdir /w -n 1 ./a : -n 2 ./b x", "mpiexec -wdir /w -n 1 @ -- ./a : -n 2 @ -- ./b x"},
	{"Intel MPI", "mpiexec.hydra -perhost 2 -bootstrap slurm -genv I_MPI_DEBUG 5 -l -n 4 ./app", "mpiexec.hydra -perhost 2 -bootstrap slurm -genv I_MPI_DEBUG 5 -l -n 4 @ -- ./app"},

	{"hydra variable in one word", "mpiexec -genv A=1 -env B=2 -n 4 ./app", "mpiexec -genv A=1 -env B=2 -n 4 @ -- ./app"},
	{"hydra variable attached", "mpiexec -genv=A 1 -env=B=2 -n 4 ./app", "mpiexec -genv=A 1 -env=B=2 -n 4 @ -- ./app"},
	{"Intel MPI environment", "mpiexec.hydra -genvall -genvexcl A,B -envlist C -envexcl D -n 4 ./app", "mpiexec.hydra -genvall -genvexcl A,B -envlist C -envexcl D -n 4 @ -- ./app"},
	{"Intel MPI hosts", "mpiexec.hydra -machinefile m -hosts a,b -hosts-group n[1-4] -ppn 2 -grr 1 -rr -nolocal -n=4 ./app", "mpiexec.hydra -machinefile m -hosts a,b -hosts-group n[1-4] -ppn 2 -grr 1 -rr -nolocal -n=4 @ -- ./app"},
	{"Intel MPI start", "mpiexec.hydra -bootstrap ssh -bootstrap-exec /x/ssh -bootstrap-exec-args -q -r ssh -rmk pbs -branch-count 4 -iface ib0 -np 4 ./app", "mpiexec.hydra -bootstrap ssh -bootstrap-exec /x/ssh -bootstrap-exec-args -q -r ssh -rmk pbs -branch-count 4 -iface ib0 -np 4 @ -- ./app"},
	{"Intel MPI output", "mpiexec.hydra -prepend-rank -prepend-timestamp -print-rank-map -prot -outfile-pattern o.%r -errfile e -silent-abort -s all ./app", "mpiexec.hydra -prepend-rank -prepend-timestamp -print-rank-map -prot -outfile-pattern o.%r -errfile e -silent-abort -s all @ -- ./app"},
	{"Intel MPI placement", "mpiexec.hydra -cpu-bind list:0-5 -tune tuned.dat -ilp64 -n 4 ./app", "mpiexec.hydra -cpu-bind list:0-5 -tune tuned.dat -ilp64 -n 4 @ -- ./app"},
	{"Intel MPI libraries", "mpiexec.hydra -trace -n 1 ./a : -check_mpi libVTmc.so ./b : -trace ./c", "mpiexec.hydra -trace -n 1 @ -- ./a : -check_mpi libVTmc.so @ -- ./b : -trace @ -- ./c"},
	{"Intel MPI tune without a file", "mpiexec.hydra -tune -n 4 ./app", "mpiexec.hydra -tune -n 4 @ -- ./app"},
	{"Intel MPI directory and path", "mpiexec.hydra -gwdir /w -gpath /p -n 4 app", "mpiexec.hydra -gwdir /w -gpath /p -n 4 @ --path /p -- app"},
	{"Intel MPI path, relative program", "mpiexec.hydra -path /p -n 4 ./app", ""},
	{"Intel MPI tool", "mpiexec.hydra -gtool valgrind:0 -n 4 ./app", ""},
	{"Intel MPI debugger", "mpiexec.hydra -gdb -n 4 ./app", ""},

	{"srun", "srun -n 4 ./app a", "srun -n 4 @ -- ./app a"},
	{"srun attached", "srun -n4 -N2 --cpus-per-task=8 --mpi=pmix ./app", "srun -n4 -N2 --cpus-per-task=8 --mpi=pmix @ -- ./app"},
	{"srun separate", "srun --ntasks 4 --cpu-bind cores --export ALL,A=b -p debug -t 10:00 ./app", "srun --ntasks 4 --cpu-bind cores --export ALL,A=b -p debug -t 10:00 @ -- ./app"},
	{"srun letters together", "srun -lun 4 ./app", "srun -lun 4 @ -- ./app"},
	{"srun letters with value", "srun -ln4 ./app", "srun -ln4 @ -- ./app"},
	{"srun optional arguments", "srun -I60 -K0 --exclusive --x11=all --nice --kill-on-bad-exit ./app", "srun -I60 -K0 --exclusive --x11=all --nice --kill-on-bad-exit @ -- ./app"},
	{"srun abbreviation", "srun --ntasks-per-n 2 --overs ./app", "srun --ntasks-per-n 2 --overs @ -- ./app"},
	{"srun components", "srun -n1 ./a : -n2 --mem 1G ./b", "srun -n1 @ -- ./a : -n2 --mem 1G @ -- ./b"},
	{"srun directory", "srun -D /w -n2 ./app", "srun -D /w -n2 @ -- ./app"},

	{"flux run", "flux run -n 4 -o cpu-affinity=per-task --env A=b -x ./app : y", "flux run -n 4 -o cpu-affinity=per-task --env A=b -x @ -- ./app : y"},
	{"flux mini run", "flux mini run -N2 -n4 ./app", "flux mini run -N2 -n4 @ -- ./app"},

	{"behind env", "env OMP_NUM_THREADS=2 mpirun -n 2 ./app", "env OMP_NUM_THREADS=2 mpirun -n 2 @ -- ./app"},
	{"behind timeout", "timeout -k 5 60 srun -n2 ./app", "timeout -k 5 60 srun -n2 @ -- ./app"},

	{"appfile", "mpirun --app file", ""},
	{"multi-prog", "srun -n 4 --multi-prog file.conf", ""},
	{"broadcast program", "srun -n 4 --bcast=/tmp/x ./app", ""},
	{"preloaded program", "mpirun -s -n 2 ./app", ""},
	{"version", "mpirun --version", ""},
	{"no program in one section", "mpirun -n 2 ./app : -n 3", ""},
	{"other flux command", "flux batch -N2 script", ""},
}

func parsed(t *testing.T, argv []string) *Command {
	t.Helper()
	c, err := Parse(argv)
	testenv.NoError(t, err)
	return c
}

func TestRewrite(t *testing.T) {
	launchers(t)
	for _, test := range rewrites {
		t.Run(test.name, func(t *testing.T) {
			c := parsed(t, strings.Fields(test.command))
			if test.want == "" {
				if len(c.Programs) != 0 || c.Reason == "" {
					t.Errorf("programs %v, reason %q; want none, with a reason", c.Programs, c.Reason)
				}
				return
			}
			argv, _, err := c.Rewrite([]string{"@"}, "")
			if got := strings.Join(argv, " "); err != nil || got != test.want {
				t.Errorf("%s\n got %s, %v\nwant %s", test.command, got, err, test.want)
			}
		})
	}
}

func TestToolOfIntelMPI(t *testing.T) {
	launchers(t)
	t.Setenv("I_MPI_GTOOL", "valgrind:0")
	c, err := Parse([]string{"mpiexec.hydra", "-n", "4", "./app"})
	if err != nil || len(c.Programs) != 0 || !strings.Contains(c.Reason, "I_MPI_GTOOL") {
		t.Errorf("%+v, %v; want no programs, and I_MPI_GTOOL as the reason", c, err)
	}
}

// Intel MPI's launcher has a name that MPICH's has too, and its mpirun is a
// script.
func TestLauncherOfIntelMPI(t *testing.T) {
	dir := launchers(t)
	script := "#!/bin/sh\nexec " + dir + "/mpiexec.hydra \"$@\"\n"
	testenv.WriteProgram(t, filepath.Join(dir, "mpirun"), script)
	for _, name := range []string{"mpirun", "mpiexec.hydra"} {
		l, err := findLauncher(name)
		if err != nil || l.System != HydraLauncher || len(l.flavours()) != 1 || l.flavours()[0] != rundir.IntelMPI {
			t.Errorf("%s: %+v, %v; want Hydra of Intel MPI", name, l, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	launchers(t)
	for _, test := range []struct{ command, want string }{
		{"sbatch job.sh", "only queues the job"},
		{"./no-such-program", "no such file"},
		{"no-such-program", "not found in $PATH"},
	} {
		_, err := Parse(strings.Fields(test.command))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q in it", test.command, err, test.want)
		}
	}
}

func TestLauncherFamilies(t *testing.T) {
	dir := launchers(t)
	for name, want := range map[string]System{
		"mpirun": OpenMPILauncher, "mpirun.openmpi": OpenMPILauncher, "orterun": OpenMPILauncher, "prterun": OpenMPILauncher,
		"mpiexec": HydraLauncher, "mpiexec.hydra": HydraLauncher, "mpiexec.mpich": HydraLauncher,
		"srun": SlurmLauncher, "flux": FluxLauncher, dir + "/mpiexec": HydraLauncher,
	} {
		l, err := findLauncher(name)
		if err != nil || l.System != want {
			t.Errorf("%s: %+v, %v; want system %d", name, l, err, want)
		}
	}
}

func TestUnknownLauncher(t *testing.T) {
	dir := launchers(t)
	prog := compile(t, "mpicc.openmpi", mpiProgram)
	testenv.WriteProgram(t, filepath.Join(dir, "aprun"), "#!/bin/sh\n")
	c := parsed(t, []string{"aprun", "-n", "4", "-d", "app", prog, "x"})
	argv, _, err := c.Rewrite([]string{"@"}, "")
	if got, want := strings.Join(argv, " "), "aprun -n 4 -d app @ -- "+prog+" x"; err != nil || got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

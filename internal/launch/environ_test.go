package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestPreload(t *testing.T) {
	for _, test := range []struct{ old, want string }{
		{"", "/l.so"},
		{"/a.so", "/l.so:/a.so"},
		{"/a.so /b.so:/c.so", "/l.so:/a.so:/b.so:/c.so"},
		{"/a.so:/l.so", "/l.so:/a.so"},
		{"/cache/libmpitrace-1234.so:/a.so:/bsc/libmpitrace.so", "/l.so:/a.so:/bsc/libmpitrace.so"}, // one library of an outer run, one of Extrae
	} {
		if got := preload("/l.so", test.old); got != test.want {
			t.Errorf("preload before %q: got %q, want %q", test.old, got, test.want)
		}
	}
}

func TestAllowPreload(t *testing.T) {
	for _, test := range []struct{ old, want string }{
		{"", "verify_asan_link_order=0"},
		{"detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"},
		{"verify_asan_link_order=1", "verify_asan_link_order=1"},
	} {
		env := []string{"A=b"}
		if test.old != "" {
			env = append(env, "ASAN_OPTIONS="+test.old)
		}
		if got := getenv(allowPreload(env), "ASAN_OPTIONS"); got != test.want {
			t.Errorf("ASAN_OPTIONS=%q: got %q, want %q", test.old, got, test.want)
		}
	}
}

func TestRecorderEnviron(t *testing.T) {
	private, open := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "o")
	for dir, mode := range map[string]os.FileMode{private: 0o700, open: 0o755} {
		testenv.NoError(t, os.Mkdir(dir, mode))
	}
	link := filepath.Join(t.TempDir(), "l")
	testenv.NoError(t, os.Symlink(private, link))
	old := []string{"MPITRACE_SPOOL_DIR=/old", "MPITRACE_DIR=/old", "LD_PRELOAD=/user.so", "A=b"}
	for _, test := range []struct{ name, spool, want string }{
		{"private directory", private, private},
		{"readable by others", open, ""},
		{"symbolic link", link, ""},
		{"on another node", private + "x", ""},
		{"none", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &Recorder{Library: "/l.so", Dir: "/run", Spool: test.spool}
			want := []string{"A=b", "MPITRACE_DIR=/run"}
			if test.want != "" {
				want = append(want, "MPITRACE_SPOOL_DIR="+test.want)
			}
			want = append(want, "ASAN_OPTIONS=verify_asan_link_order=0", "LD_PRELOAD=/l.so:/user.so")
			if got := r.Environ(old); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A setting that is given replaces the variable in the user's environment. The
// others leave it unchanged.
func TestRecorderSettings(t *testing.T) {
	old := []string{"MPITRACE_TIMING=exact", "MPITRACE_RECEIVES=on", "MPITRACE_STACK=3"}
	for _, test := range []struct {
		words                   []string
		timing, receives, stack string
	}{
		{nil, "exact", "on", "3"},
		{[]string{"timing=sampled"}, "sampled", "on", "3"},
		{[]string{"receives=off", "stack=5"}, "exact", "off", "5"},
	} {
		values, err := settings.ParseWords(test.words)
		testenv.NoError(t, err)
		env := (&Recorder{Settings: values}).Environ(old)
		got := [3]string{getenv(env, "MPITRACE_TIMING"), getenv(env, "MPITRACE_RECEIVES"), getenv(env, "MPITRACE_STACK")}
		if got != [3]string{test.timing, test.receives, test.stack} {
			t.Errorf("%q: got %q", test.words, got)
		}
	}
}

func TestUnderLauncher(t *testing.T) {
	for _, test := range []struct {
		name string
		env  map[string]string
		want bool
	}{
		{"shell", nil, false},
		{"Open MPI", map[string]string{"OMPI_COMM_WORLD_RANK": "0"}, true},
		{"hydra", map[string]string{"PMI_RANK": "3"}, true},
		{"srun", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}, true},
		{"batch script", map[string]string{"SLURM_PROCID": "0"}, false},
		{"batch step", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "4294967291", "SLURM_STEP_NUM_TASKS": "4"}, false},
		{"shell on a node", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}, false},
		{"shell with the ranks of pmi2 and pmix", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1",
			"PMI_RANK": "0", "PMI_SIZE": "1", "PMIX_RANK": "0"}, false},
		{"mpirun of Open MPI in such a shell", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1",
			"PMIX_RANK": "0", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, true},
		{"mpiexec of MPICH in such a shell", map[string]string{"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1",
			"PMI_RANK": "1", "PMI_SIZE": "2"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, n := range numberings {
				t.Setenv(n.rank, test.env[n.rank])
				if n.size != "" {
					t.Setenv(n.size, test.env[n.size])
				}
			}
			t.Setenv("SLURM_STEP_ID", test.env["SLURM_STEP_ID"])
			if mark, ok := UnderLauncher(); ok != test.want {
				t.Errorf("got %q, %v; want %v", mark, ok, test.want)
			}
		})
	}
}

func TestJobID(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "2"}, "4711.2"},
		{map[string]string{"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "4294967291"}, "4711"},
		{map[string]string{"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "SLURM_RESTART_COUNT": "2"}, "4711-restart2.0"},
		{map[string]string{"SLURM_JOB_ID": "4711", "SLURM_RESTART_COUNT": "0"}, "4711"},
		{map[string]string{"PBS_JOBID": "12[3].server/x"}, "12-3-.server-x"},
		{map[string]string{"FLUX_JOB_ID": "f2wK9"}, "f2wK9"},
	} {
		for _, name := range []string{"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID"} {
			t.Setenv(name, test.env[name])
		}
		if got := JobID(); got != test.want {
			t.Errorf("%v: got %q, want %q", test.env, got, test.want)
		}
	}
}

func TestEnvironForProgram(t *testing.T) {
	lib := filepath.Join(t.TempDir(), "lib.so")
	testenv.WriteFile(t, lib, "")
	open := compile(t, "mpicc.openmpi", mpiProgram)
	plain := compile(t, "cc", plainProgram)
	for _, test := range []struct {
		name, program string
		flavour       rundir.Flavour
		library       string
		recorded      bool
	}{
		{"right MPI", open, rundir.OpenMPI, lib, true},
		{"other MPI", open, rundir.MPICH, lib, false},
		{"not linked to MPI", plain, rundir.MPICH, lib, true},
		{"static", compile(t, "cc", plainProgram, "-static"), rundir.OpenMPI, lib, false},
		{"library not here", open, rundir.OpenMPI, lib + ".not", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &Recorder{Library: test.library, Flavour: test.flavour, Dir: "/run"}
			env, why := r.environFor(test.program, []string{"A=b"})
			if got := getenv(env, "LD_PRELOAD") != ""; got != test.recorded || (why == "") != test.recorded {
				t.Errorf("preloaded %v, reason %q; want recorded %v", got, why, test.recorded)
			}
		})
	}
}

func TestExpandName(t *testing.T) {
	for name, value := range map[string]string{"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "big run/2", "SLURM_ARRAY_TASK_ID": ""} {
		t.Setenv(name, value)
	}
	for _, test := range []struct{ name, want, err string }{
		{"run", "run", ""},
		{"out/%x-%j", "out/big-run-2-4711", ""},
		{"100%%", "100%", ""},
		{"%a", "", "%a is the index in an array of batch jobs, and this is none (SLURM_ARRAY_TASK_ID is not set)"},
		{"%N", "", "%N: after %, a name may have j"},
		{"50%", "", "50%: after %, a name may have j"},
	} {
		got, err := ExpandName(test.name)
		if got != test.want || (test.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: got %q, %v; want %q, %q", test.name, got, err, test.want, test.err)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Command lines that are nearly right get the right one.
func TestAdvice(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"mpirun", "srun", "app"} {
		testenv.WriteProgram(t, filepath.Join(dir, name), "#!/bin/sh\n")
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, test := range []struct{ typed, want string }{
		{"mpirun -n 2 ./app", "there is no command \"mpirun\": to record it: mpitrace run -- mpirun -n 2 ./app"},
		{"./app x", "there is no command \"./app\": to record it: mpitrace run -- ./app x"},
		{"app", "to record it: mpitrace run -- app"},
		{"-o x mpirun ./app", "to record it: mpitrace run -o x -- mpirun ./app"},
		{"--trace srun ./app", "to record it: mpitrace run --trace -- srun ./app"},
		{"run -n 2 ./app", "give it to the launcher: mpitrace run -- mpirun -n 2 ./app"},
		{"run -np 2 ./app", "give it to the launcher: mpitrace run -- mpirun -np 2 ./app"},
		{"run -oversubscribe -n 2 ./app", "give it to the launcher: mpitrace run -- mpirun -oversubscribe -n 2 ./app"},
		{"run -o x --ntasks=2 --trace ./app", "unknown flag: --ntasks: give it to the launcher: mpitrace run -o x -- srun --ntasks=2 --trace ./app"},
		{"run --trase -n 2 ./app", "unknown flag: --trase: did you mean --trace?"},
		{"run --no-reprot -- app", "did you mean --no-report?"},
		{"matrix --fromat png x", "did you mean --format"},
		{"report --stack x", "unknown flag: --stack: it is a flag of mpitrace config, mpitrace run"},
		{"--stack auto", "it is a flag of mpitrace config, mpitrace run"},
		{"report --nothing-like-it", "see mpitrace report --help"},
		{"repot", "there is no command \"repot\": did you mean mpitrace report?"},
		{"rport --full", "did you mean mpitrace report?"},
		{"record -o x mpirun ./app", "use mpitrace run -o x mpirun ./app"},
		{"trace mpirun ./app", "use mpitrace run --trace mpirun ./app"},
		{"ls", "use mpitrace list"},
		{"nothing-like-it", "there is no command \"nothing-like-it\": mpitrace --help lists them"},
		{"report", "or record one: mpitrace run -- mpirun -n 4 ./app"},
	} {
		if got := call(strings.Fields(test.typed)...); got.code != exitUsage || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
			t.Errorf("mpitrace %s: status %d, %q, want %q", test.typed, got.code, got.stderr, test.want)
		}
	}
}

// What other tools call a command is no command of ours, and leads to one.
func TestOtherNames(t *testing.T) {
	root := newRoot()
	for other, name := range otherNames {
		if cmd, _, err := root.Find([]string{other}); err == nil && cmd != root {
			t.Errorf("%s is a command", other)
		}
		cmd, rest, err := root.Find(strings.Fields(name))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || cmd == root {
			t.Errorf("%s leads to %q: %v", other, name, err)
		}
	}
}

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestStatusOfMissing requires exit status 127 and no run directory for a
// program that does not exist, with and without a launcher. If the launcher
// itself crashes in this case, as Open MPI's sometimes does, the status must be
// the launcher's.
func TestStatusOfMissing(t *testing.T) {
	withEachAt(t, testenv.Highest(), debian, func(t *testing.T, m implementation) {
		for i, command := range [][]string{{"nosuch"}, {"./nosuch"}, {"nosuch-launcher", "-n", "2", "nosuch"},
			m.launch(2, "nosuch"), m.launch(2, "./nosuch"), m.launch(1, "./nosuch", ":", "-n", "1", "./nosuch2")} {
			for _, made := range []bool{true, false} {
				if made != (i%2 == 0) && testenv.Highest() == testenv.Quick {
					continue // level quick tries each command with one of the two
				}
				dir := filepath.Join(t.TempDir(), "run")
				if !made {
					os.Mkdir(dir, 0o755)
				}
				out := execute(t, nil, slices.Concat([]string{mpitrace, "run", "--mpi", m.name, "-o", dir, "--"}, command)...)
				if crashed := m.name == "openmpi" && len(command) > 3 && out.code > 128; out.code != 127 && !crashed {
					t.Errorf("%q: exit status %d, want 127\n%s", command, out.code, out.stderr)
				}
				if !strings.Contains(out.stderr, "nosuch") {
					t.Errorf("%q: the message does not name what does not exist: %s", command, out.stderr)
				}
				left, err := os.ReadDir(dir)
				if made && !os.IsNotExist(err) || !made && (err != nil || len(left) > 0) {
					t.Errorf("%q: %v is left, %v", command, left, err)
				}
			}
		}
		// A program that fails before MPI_Init leaves nothing either.
		dir := filepath.Join(t.TempDir(), "run")
		out := execute(t, nil, slices.Concat([]string{mpitrace, "run", "-o", dir, "--"}, m.launch(1, "false"))...)
		if _, err := os.Stat(dir); out.code != 1 || !os.IsNotExist(err) {
			t.Errorf("false: exit status %d, %v\n%s", out.code, err, out.stderr)
		}
	})
}

// TestStatusOfOtherMPI requires an error before the start if --mpi names
// another MPI than the one to which the program is linked.
func TestStatusOfOtherMPI(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		other := map[string]string{"openmpi": "mpich", "mpich": "openmpi"}[m.name]
		dir := filepath.Join(t.TempDir(), "run")
		out := execute(t, nil, slices.Concat([]string{mpitrace, "run", "--mpi", other, "-o", dir, "--"}, m.launch(2, m.compile(t, "sends")))...)
		if _, err := os.Stat(dir); out.code != 2 || out.stdout != "" || !os.IsNotExist(err) || !strings.Contains(out.stderr, "is linked to") {
			t.Errorf("exit status %d, %v\n%s%s", out.code, err, out.stdout, out.stderr)
		}
	})
}

// TestStatusOfBoth requires that mpitrace and profile2mat have the same exit
// status for the same mistake.
func TestStatusOfBoth(t *testing.T) {
	testenv.At(t, testenv.Quick)
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "x.json")
	cut := filepath.Join(t.TempDir(), "cut.arrow")
	if err := errors.Join(os.WriteFile(file, []byte("{}"), 0o644), os.WriteFile(cut, []byte("ARROW1\x00\x00"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name         string
		trace, toMat []string
		want         int
	}{
		{"help", []string{"--help"}, []string{"--help"}, 0},
		{"unknown flag", []string{"report", "--nosuch", empty}, []string{"--nosuch", empty}, 2},
		{"no path", []string{"report"}, nil, 2},
		{"missing path", []string{"report", empty + "/none"}, []string{empty + "/none"}, 2},
		{"no run", []string{"report", empty}, []string{empty}, 2},
		{"unknown format", []string{"export", "--format", "x", empty}, []string{"--format", "x", empty}, 2},
		{"another kind of file", []string{"export", "--format", "csv", "-o", "-", file}, []string{file}, 2},
		{"damaged file", []string{"export", "--format", "csv", "-o", "-", cut}, []string{cut}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, command := range [][]string{append([]string{mpitrace}, test.trace...), append([]string{toMatrix}, test.toMat...)} {
				if out := execute(t, nil, command...); out.code != test.want {
					t.Errorf("%q: exit status %d, want %d\n%s", command, out.code, test.want, out.stderr)
				}
			}
		})
	}
}

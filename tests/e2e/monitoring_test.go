package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const ranksOfLAMMPS = 4

// lammps returns the command line of the Lennard-Jones melt. If monitored is
// not empty, Open MPI's monitoring writes <monitored>.<rank>.prof.
func lammps(monitored string) []string {
	line := []string{"mpirun.openmpi", "--oversubscribe", "-n", fmt.Sprint(ranksOfLAMMPS)}
	if monitored != "" {
		line = append(line, "--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3",
			"--mca", "pml_monitoring_filename", monitored)
	}
	return append(line, "lmp", "-in", filepath.Join(root, "tests", "e2e", "testdata", "in.melt"), "-log", "none")
}

// thermo returns the table of thermodynamic values from LAMMPS's output.
func thermo(t *testing.T, stdout string) string {
	t.Helper()
	_, table, ok := strings.Cut(stdout, "Step")
	table, _, ends := strings.Cut(table, "Loop time")
	if !ok || !ends || strings.Count(table, "\n") != 1+11 { // the heading, and a line every 10 steps from 0 to 100
		t.Fatalf("no thermo table in\n%s", stdout)
	}
	return table
}

// TestLAMMPS runs a real program under Open MPI's monitoring and mpitrace at
// once. Both must see the same messages, and the program's results must not
// change.
func TestLAMMPS(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "gcc", "mpicc.openmpi", "mpirun.openmpi", "lmp", "perl", "/usr/bin/profile2mat")
	theirs := filepath.Join(t.TempDir(), "theirs")
	alone := succeed(t, nil, lammps("")...)
	j := record(t, []string{"--format", "prof"}, lammps(theirs)...)
	if j.code != 0 {
		t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
	}
	checkWhole(t, ranksOfLAMMPS, j)
	checkReceived(t, j.ranks)
	diff(t, "thermo", thermo(t, alone.stdout), thermo(t, j.stdout))

	var ourFiles, theirFiles []string
	for r := range ranksOfLAMMPS {
		theirFiles = append(theirFiles, fmt.Sprintf("%s.%d.prof", theirs, r))
		ourFiles = append(ourFiles, filepath.Join(j.dir, "prof", fmt.Sprintf("lmp.%d.prof", r)))
		want := externalOf(t, theirFiles[r])
		if len(want) == 0 {
			t.Errorf("Open MPI saw no messages of rank %d", r)
		}
		diff(t, fmt.Sprintf("E lines of rank %d", r), want, externalOf(t, ourFiles[r]))
	}
	t.Run("matrices as the Perl script's, ours", func(t *testing.T) { checkAgainstPerl(t, ourFiles) })
	t.Run("matrices as the Perl script's, Open MPI's", func(t *testing.T) { checkAgainstPerl(t, theirFiles) })
}

// externalOf returns the volumes in the E lines of a .prof file.
func externalOf(t *testing.T, path string) volumes {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	traffic, err := prof.Read(f, path)
	if err != nil {
		t.Fatal(err)
	}
	external := volumes{}
	for _, flow := range traffic.Flows {
		if flow.Kind == profile.External {
			external.add(flow.From, flow.To, flow.Bytes, flow.Messages)
		}
	}
	return external
}

// checkAgainstPerl runs Open MPI's script and our command on each rank's file,
// and on all of them in one file. Both must write the same files.
func checkAgainstPerl(t *testing.T, paths []string) {
	t.Helper()
	var all []byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
		if path == paths[0] {
			checkSameMatrices(t, "rank0.prof", text)
		}
	}
	checkSameMatrices(t, "all.prof", all)
}

func checkSameMatrices(t *testing.T, name string, text []byte) {
	t.Helper()
	perl, ours := t.TempDir(), t.TempDir()
	for _, dir := range []string{perl, ours} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, nil, "/usr/bin/profile2mat", filepath.Join(perl, name))
	succeed(t, nil, toMatrix, "--symmetric", filepath.Join(ours, name))
	want, got := filesIn(t, perl), filesIn(t, ours)
	if len(want) < 4 { // the input, and the matrices size, msg and avg
		t.Errorf("%s: the Perl script wrote %v", name, want)
	}
	diff(t, "files for "+name, want, got)
	for _, file := range want {
		a, errA := os.ReadFile(filepath.Join(perl, file))
		b, errB := os.ReadFile(filepath.Join(ours, file))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs from the Perl script's (%v, %v):\n%s\nwant\n%s", file, errA, errB, b, a)
		}
	}
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// TestHaloUnderOpenMPI5 makes the comparisons of TestLAMMPS with the files of
// Open MPI 5's monitoring.
func TestHaloUnderOpenMPI5(t *testing.T) {
	testenv.At(t, testenv.All)
	m := implementations()[slices.IndexFunc(implementations(), func(m implementation) bool { return m.name == "openmpi5" })]
	testenv.Need(t, "gcc", m.cc, m.launcher[0], "perl", "/usr/bin/profile2mat")
	theirs := filepath.Join(t.TempDir(), "theirs")
	line := append(slices.Clone(m.launcher), "-n", "4", "--mca", "pml_monitoring_enable", "2", "--mca", "pml_monitoring_enable_output", "3",
		"--mca", "pml_monitoring_filename", theirs, m.compileFile(t, filepath.Join(root, "examples", "halo", "halo.c"), "-lm"), "-s", "20")
	j := record(t, []string{"--format", "prof"}, line...)
	if j.code != 0 {
		t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
	}
	checkWhole(t, 4, j)
	var paths []string
	for r := range 4 {
		paths = append(paths, fmt.Sprintf("%s.%d.prof", theirs, r))
		// Each rank has two neighbours, and sends each a message in each of 20
		// steps.
		want := externalOf(t, paths[r])
		if len(want) != 2 {
			t.Errorf("Open MPI saw rank %d send to %d", r, len(want))
		}
		diff(t, fmt.Sprintf("E lines of rank %d", r), want, externalOf(t, filepath.Join(j.dir, "prof", fmt.Sprintf("halo.%d.prof", r))))
	}
	checkAgainstPerl(t, paths)
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/matrices"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestPrefix(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "x.0.prof"), rankFile(0, 3))
	put(t, filepath.Join(dir, "x.2.prof"), rankFile(2, 3))
	for _, other := range []string{"xy.1.prof", "x.1.prof.bak", "x.prof", "x_a.1.prof", "y.1.prof"} {
		put(t, filepath.Join(dir, other), "E\t1\t1\t1000 bytes\t1 msgs sent\n")
	}
	files, stderr := mustRun(t, filepath.Join(dir, "x"))
	if len(files) != 6 || files["x_size_all.mat"] != "5 10 0 \n0 0 0 \n12 0 5 \n" {
		t.Errorf("got %v", files)
	}
	if !strings.HasSuffix(stderr, "x: nothing from rank 1 of 3\n") {
		t.Errorf("said %q", stderr)
	}
}

// TestPhases requires that each phase has its own matrices, whether their prefix or their
// directory is given. Phase 0 is one too, and phase 1 must not take the files of phase 10.
func TestPhases(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, phase := range []int{0, 1, 2, 10} {
		for r := range 2 {
			put(t, fmt.Sprintf("prof/phase_%d.%d.prof", phase, r), fmt.Sprintf("E\t%d\t%d\t%d bytes\t1 msgs sent\n", r, 1-r, 100*phase+r))
		}
	}
	want := map[string]string{}
	for _, phase := range []int{0, 1, 2, 10} {
		for _, class := range []string{"all", "external"} {
			for _, q := range []string{"size", "avg"} {
				want[fmt.Sprintf("phase_%d_%s_%s.mat", phase, q, class)] = fmt.Sprintf("0 %d \n%d 0 \n", 100*phase, 100*phase+1)
			}
			want[fmt.Sprintf("phase_%d_msg_%s.mat", phase, class)] = "0 1 \n1 0 \n"
		}
	}
	for _, path := range []string{"prof/phase", "prof"} {
		files, stderr := mustRun(t, "--force", path)
		if diff := cmp.Diff(want, files); diff != "" || stderr != "" {
			t.Errorf("%s: said %q\n%s", path, stderr, diff)
		}
	}
	if _, err := os.Stat("prof/phase_10_size_all.mat"); err != nil {
		t.Error(err)
	}
}

func TestStandardInput(t *testing.T) {
	t.Chdir(t.TempDir())
	text := rankFile(0, 2) + rankFile(1, 2)
	job := synth.NewRing(1)
	var rec bytes.Buffer
	testenv.NoError(t, recordingtest.Write(&rec, job.Profile(0)))
	arrow := testenv.ReadFile(t, arrowFile(t, "a.arrow", "one", 0, 1, 2))
	for name, c := range map[string]struct{ stdin, file, size string }{
		"prof":      {text, "stdin_size_all.mat", "5 10 \n11 5 \n"},
		"arrow":     {string(arrow), "mpi_size_all.mat", "0 7 0 \n0 0 7 \n7 0 0 \n"},
		"recording": {rec.String(), "ring_size_all.mat", ""},
	} {
		out, _, err := runWith(strings.NewReader(c.stdin), "-")
		if err != nil || !strings.HasPrefix(out, c.file+"\n") {
			t.Errorf("%s: wrote %q, %v", name, out, err)
			continue
		}
		if got, err := os.ReadFile(c.file); err != nil || c.size != "" && string(got) != c.size {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for text, want := range map[string]string{"": "read standard input: nothing in it", "hello": "read standard input: unknown format: give recordings",
		"ARROW1": "read standard input: "} {
		if _, _, err := runWith(strings.NewReader(text), "-"); err == nil || !strings.Contains(err.Error(), want) || (matrices.ExitStatus(err) == 2) != (text == "hello") {
			t.Errorf("%q: got error %v, exit status %d", text, err, matrices.ExitStatus(err))
		}
	}
	damage := fmt.Sprintf("standard input is damaged: byte %d: another recording begins", rec.Len())
	if _, _, err := runWith(strings.NewReader(rec.String()+rec.String()), "-"); err == nil || !strings.HasPrefix(err.Error(), damage) {
		t.Errorf("two recordings: got error %v, want %s", err, damage)
	}
	if _, _, err := runWith(strings.NewReader(text), "-", "x.prof"); err == nil || !strings.Contains(err.Error(), "give it alone") {
		t.Errorf("got error %v", err)
	}
}

// TestPipe reads a file that can be read only once.
func TestPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.NoError(t, syscall.Mkfifo("pipe", 0o666))
	done := make(chan error, 1)
	go func() { done <- os.WriteFile("pipe", []byte(rankFile(0, 2)+rankFile(1, 2)), 0o666) }()
	files, _ := mustRun(t, "pipe")
	if err := <-done; err != nil || files["stdin_size_all.mat"] != "5 10 \n11 5 \n" {
		t.Errorf("got %v, %v", files, err)
	}
}

// recordingsOf writes a recording for each process.
func recordingsOf(t *testing.T, dir string, ps ...*profile.Profile) []string {
	t.Helper()
	testenv.Mkdir(t, dir)
	var out []string
	for _, p := range ps {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d.rec", p.Run, p.Rank))
		recordingtest.Record(t, path, p)
		out = append(out, path)
	}
	return out
}

func TestRecordings(t *testing.T) {
	dir := t.TempDir()
	a := recordingsOf(t, dir, processOf("one", 1, 0), processOf("one", 1, 2))
	files, stderr := mustRun(t, a...)
	if files["app_size_all.mat"] != "0 7 0 \n0 0 0 \n7 0 0 \n" || !strings.Contains(stderr, "nothing from rank 1 of 3") {
		t.Errorf("got %v, said %q", files, stderr)
	}
	b := recordingsOf(t, dir, processOf("two", 1, 1))
	if _, _, err := runCommand(append(a, b...)...); err == nil || !strings.Contains(err.Error(), `the files are of different runs ("one" and "two")`) {
		t.Errorf("got error %v", err)
	}
	again := recordingsOf(t, filepath.Join(dir, "again"), processOf("one", 2, 0))
	if _, _, err := runCommand(append(a, again...)...); err == nil || !strings.Contains(err.Error(), "the files are of different runs") {
		t.Errorf("got error %v", err)
	}
	other := processOf("one", 1, 1)
	other.Size, other.Comms[0].Members.N = 4, 4
	larger := recordingsOf(t, filepath.Join(dir, "larger"), other)
	if _, _, err := runCommand(append(a, larger...)...); err == nil || !strings.Contains(err.Error(), "MPI_COMM_WORLD has 3 ranks in") || !strings.Contains(err.Error(), "one-1.rec") {
		t.Errorf("got error %v", err)
	}
}

// TestDataset reads a directory of partitions, and requires that the matrices
// are written beside it.
func TestDataset(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "exported")
	arrowFile(t, filepath.Join(dir, "rank_block=0", "part-0.arrow"), "one", 0, 1)
	arrowFile(t, filepath.Join(dir, "rank_block=2", "part-0.arrow"), "one", 2)
	for range 2 { // the output of the first run must not disturb the second
		files, stderr := mustRun(t, "--force", dir)
		if files["mpi_size_all.mat"] != "0 7 0 \n0 0 7 \n7 0 0 \n" || stderr != "" {
			t.Errorf("got %v, said %q", files, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "mpi_size_all.mat")); err != nil {
		t.Error(err)
	}
	put(t, filepath.Join(dir, "rank_block=3", "notes.txt"), "x")
	if _, _, err := runCommand("--force", dir); err == nil || !strings.Contains(err.Error(), "exported") || !strings.Contains(err.Error(), "notes.txt") {
		t.Errorf("got error %v", err)
	}
}

// TestPlacesThatAreNoRun requires that each error names the path.
func TestPlacesThatAreNoRun(t *testing.T) {
	dir := t.TempDir()
	link := func(to, name string) string {
		path := filepath.Join(dir, name)
		testenv.NoError(t, os.Symlink(to, path))
		return path
	}
	loop := link("loop", "loop")
	link("b", "a")
	around := link("a", "b")
	empty := filepath.Join(dir, "empty")
	inside := filepath.Join(dir, "inside") // contains a link to itself
	for _, path := range []string{empty, filepath.Join(inside, "recordings")} {
		testenv.Mkdir(t, path)
	}
	testenv.NoError(t, os.Symlink("..", filepath.Join(inside, "recordings", "up.rec")))
	dangling := link("nowhere", "dangling")
	for path, want := range map[string]string{
		loop: "too many levels of symbolic links", around: "too many levels of symbolic links",
		empty: "empty holds no recording", inside: "inside", dangling: "no such file or directory",
		filepath.Join(dir, "none", "x"): "no such file or directory",
		filepath.Join(dir, "x"):         "no such file or directory, and no prefix of files x.<rank>.prof or x_<phase>.<rank>.prof",
	} {
		_, _, err := runCommand(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Base(path)) {
			t.Errorf("%s: got error %v", path, err)
		}
	}
}

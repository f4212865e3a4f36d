package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/matrices"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/readback"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// runCommand runs a command line in this process.
func runCommand(args ...string) (stdout, stderr string, err error) { return runWith(nil, args...) }

func runWith(stdin io.Reader, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	err = cmd.Execute()
	return out.String(), errs.String(), err
}

// mustRun returns the contents of the files written, by base name, and stderr.
func mustRun(t *testing.T, args ...string) (files map[string]string, stderr string) {
	t.Helper()
	stdout, stderr, err := runCommand(args...)
	if err != nil {
		t.Fatalf("profile2mat %q: %v", args, err)
	}
	files = map[string]string{}
	for path := range strings.Lines(stdout) {
		path = strings.TrimSuffix(path, "\n")
		text := testenv.ReadFile(t, path)
		files[filepath.Base(path)] = string(text)
	}
	return files, stderr
}

func names(files map[string]string) []string {
	out := []string{}
	for name := range files {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	testenv.Mkdir(t, filepath.Dir(path))
	testenv.WriteFile(t, path, text)
	return path
}

// rankFile returns the .prof file of rank r of n. The rank sent 10+r bytes in 2
// messages to the next rank, and 5 bytes in 1 message to itself.
func rankFile(r, n int) string {
	world := []string{}
	for i := range n {
		world = append(world, fmt.Sprint(i))
	}
	return fmt.Sprintf("# POINT TO POINT\nE\t%d\t%d\t%d bytes\t2 msgs sent\t0,2\nE\t%d\t%d\t5 bytes\t1 msgs sent\t0,0,1\n"+
		"# OSC\n# COLLECTIVES\nD\tMPI_COMM_WORLD\tprocs: %s\nA2A\t%d\t0 bytes\t0 msgs sent\n",
		r, (r+1)%n, 10+r, r, r, strings.Join(world, ","), r)
}

func TestDirectedProf(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "x.prof"), rankFile(0, 3)+rankFile(1, 3)+rankFile(2, 3))
	files, stderr := mustRun(t, path)
	want := map[string]string{}
	for _, class := range []string{"all", "external"} {
		want["x_size_"+class+".mat"] = "5 10 0 \n0 5 11 \n12 0 5 \n"
		want["x_msg_"+class+".mat"] = "1 2 0 \n0 1 2 \n2 0 1 \n"
		want["x_avg_"+class+".mat"] = "5 5 0 \n0 5 6 \n6 0 5 \n" // 5.5 is rounded to even
	}
	testenv.Equal(t, want, files)
	if stderr != "" {
		t.Errorf("said %q", stderr)
	}
}

func TestFilesOfRanksAreMerged(t *testing.T) {
	dir := t.TempDir()
	a, b := put(t, filepath.Join(dir, "x.0.prof"), rankFile(0, 4)), put(t, filepath.Join(dir, "x.2.prof"), rankFile(2, 4))
	files, stderr := mustRun(t, "--no-self", "-o", filepath.Join(dir, "new", "place"), b, a)
	if got, want := files["x.no-self_size_all.mat"], "0 10 0 0 \n0 0 0 0 \n0 0 0 12 \n0 0 0 0 \n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.HasSuffix(stderr, "x: nothing from ranks 1, 3 of 4\n") {
		t.Errorf("said %q", stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "new", "place", "x.no-self_avg_external.mat")); err != nil {
		t.Error(err)
	}
}

func TestExistingFilesAreKept(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "x.prof"), rankFile(0, 2))
	put(t, filepath.Join(dir, "x_avg_external.mat"), "mine")
	for _, flags := range [][]string{{path}, {path, "--symmetric"}} {
		_, _, err := runCommand(flags...)
		if err == nil || !strings.Contains(err.Error(), "x_avg_external.mat exists: ") || matrices.ExitStatus(err) != 2 {
			t.Errorf("got error %v", err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("files were written: %q", left)
	}
	files, _ := mustRun(t, path, "--force")
	if files["x_avg_external.mat"] != "5 5 \n0 0 \n" {
		t.Errorf("--force wrote %q", files["x_avg_external.mat"])
	}
}

func TestFailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "x.prof"), rankFile(0, 2))
	testenv.Mkdir(t, filepath.Join(dir, "x_msg_all.mat"))
	testenv.Mkdir(t, filepath.Join(dir, "x_size_all.mat"))
	if _, _, err := runCommand(path, "--force"); err == nil {
		t.Fatal("wrote a file where there is a directory")
	}
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(hidden) != 0 || len(left) != 3 {
		t.Errorf("left behind: %q %q", hidden, left)
	}
}

// The error of a full disk must be reported once, with the final name.
func TestFullDisk(t *testing.T) { testenv.FullDisk(t, 200, func() { fullDisk(t) }) }

func fullDisk(t *testing.T) {
	lines := ""
	for to := range 300 {
		lines += fmt.Sprintf("E\t0\t%d\t1 bytes\t1 msgs sent\n", to)
	}
	for _, format := range []string{"mat", "mtx", "npy", "csv", "arrow", "parquet", "json", "png", "svg"} {
		t.Run(format, func(t *testing.T) {
			dir := t.TempDir()
			_, _, err := runWith(strings.NewReader(lines), "-", "-o", filepath.Join(dir, "new", "out"), "--format", format)
			if err == nil || !strings.HasPrefix(err.Error(), "write "+filepath.Join(dir, "new", "out", "stdin_")) ||
				strings.Count(err.Error(), "file too large") != 1 || strings.Contains(err.Error(), ".part") {
				t.Errorf("got error %v", err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// If the disk lacks room, no directory is made, and an existing one stays.
func TestRefusalMakesNoDirectory(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "x.prof"), "E\t0\t1999999999\t1 bytes\t1 msgs sent\n")
	for _, out := range []string{"new", "a/b/c", "there"} {
		if out == "there" {
			testenv.Mkdir(t, filepath.Join(dir, out))
		}
		_, _, err := runCommand(path, "--format", "npy", "--max-pairs", "0", "-o", filepath.Join(dir, out))
		if err == nil || !strings.Contains(err.Error(), "bytes or more, "+filepath.Join(dir, out)+" has ") {
			t.Errorf("%s: got error %v", out, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("left behind: %q", left)
	}
}

func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"--nonsense", "x"}, {"-o"}} {
		_, _, err := runCommand(args...)
		if err == nil || matrices.ExitStatus(err) != 2 {
			t.Errorf("%q: got error %v", args, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	x0 := put(t, filepath.Join(dir, "x.0.prof"), rankFile(0, 2))
	again := put(t, filepath.Join(dir, "again", "x.0.prof"), rankFile(0, 2))
	y1 := put(t, filepath.Join(dir, "y.1.prof"), rankFile(1, 2))
	larger := put(t, filepath.Join(dir, "larger", "x.1.prof"), rankFile(1, 3))
	plain := put(t, filepath.Join(dir, "plain.prof"), rankFile(1, 2))
	empty := put(t, filepath.Join(dir, "empty.prof"), "")
	stray := put(t, filepath.Join(dir, "stray.txt"), "hello")
	absurd := put(t, filepath.Join(dir, "absurd.prof"), "E\t0\t2147483647\t1 bytes\t1 msgs sent\n")
	arrow := arrowFile(t, filepath.Join(dir, "a.arrow"), "one", 0)
	other := arrowFile(t, filepath.Join(dir, "b.arrow"), "two", 1)
	for _, c := range []struct {
		paths []string
		want  string
		code  int
	}{
		{[]string{filepath.Join(dir, "none.prof")}, "no such file", 2},
		{[]string{x0, again}, "rank 0 is in both", 1},
		{[]string{x0, y1}, "are of different runs", 1},
		{[]string{x0, larger}, "MPI_COMM_WORLD has 2 ranks in", 1},
		{[]string{x0, plain}, "must be named <prefix>.<rank>.prof", 1},
		{[]string{empty}, "nothing was sent, and no rank is named", 1},
		{[]string{stray}, "unknown format: give recordings (.rec, .node), prof or arrow files", 2},
		{[]string{absurd}, "no mat of external: 4611686018427387904 pairs of ranks, where --max-pairs allows 200000000", 1},
		{[]string{x0, dir}, "give it alone", 2},
		{[]string{dir}, "give files of one", 2},
		{[]string{x0, arrow}, "give files of one", 2},
		{[]string{arrow, other}, `the files are of different runs ("one" and "two")`, 2},
	} {
		_, _, err := runCommand(c.paths...)
		if err == nil || !strings.Contains(err.Error(), c.want) || matrices.ExitStatus(err) != c.code {
			t.Errorf("%q: got error %v and status %d, want %q and %d", c.paths, err, matrices.ExitStatus(err), c.want, c.code)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.mat")); len(files) != 0 {
		t.Errorf("wrote %q", files)
	}
}

// Damaged input is an error that names the place, or is skipped with
// --skip-damaged.
func TestDamagedInput(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "x.prof"), rankFile(0, 2)+"E\t1\t0\t1")
	const place = "x.prof:8: line ends after 4 of 8 fields"
	_, _, err := runCommand(path)
	if err == nil || !strings.Contains(err.Error(), place) || !strings.Contains(err.Error(), "--skip-damaged") || matrices.ExitStatus(err) != 1 {
		t.Errorf("got error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("files were written: %q", left)
	}
	files, stderr := mustRun(t, path, "--skip-damaged")
	if files["x_size_all.mat"] != "5 10 \n0 0 \n" {
		t.Errorf("got %q", files["x_size_all.mat"])
	}
	if !strings.Contains(stderr, place) {
		t.Errorf("said %q", stderr)
	}
}

// A recording with truncated rows is damaged input, and so is one that cannot
// be read at all.
func TestDamagedRecordings(t *testing.T) {
	for name, length := range map[string]int64{"cut": 5000, "none": 10} {
		dir := t.TempDir()
		for r := range 3 {
			path := filepath.Join(dir, "recordings", fmt.Sprintf("%d.rec", r))
			testenv.Mkdir(t, filepath.Dir(path))
			recordingtest.Record(t, path, processOf("one", 1, r))
		}
		cut := filepath.Join(dir, "recordings", "1.rec")
		testenv.NoError(t, os.Truncate(cut, length))
		if _, _, err := runCommand(dir); err == nil || !strings.Contains(err.Error(), cut) || !strings.Contains(err.Error(), "--skip-damaged") {
			t.Errorf("%s: got error %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "matrix")); err == nil {
			t.Errorf("%s: matrices were written", name)
		}
		if _, _, err := runCommand(dir, "--callsite", "x"); err == nil || strings.Count(err.Error(), cut) != 1 {
			t.Errorf("%s: looked through twice, got error %v", name, err)
		}
		files, stderr := mustRun(t, dir, "--skip-damaged")
		if got := files["app_size_all.mat"]; got != "0 7 0 \n0 0 0 \n7 0 0 \n" || !strings.Contains(stderr, cut) {
			t.Errorf("%s: got %q, said %q", name, got, stderr)
		}
	}
}

func TestSymmetricNeedsTraffic(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "x.prof"), "D\tMPI_COMM_WORLD\tprocs: 0\nA2A\t0\t0 bytes\t0 msgs sent\n")
	files, stderr := mustRun(t, "--symmetric", path)
	if len(files) != 0 || !strings.Contains(stderr, "nothing was sent") {
		t.Errorf("got %v, said %q", files, stderr)
	}
	if files, _ := mustRun(t, path); files["x_size_all.mat"] != "0 \n" || len(files) != 3 {
		t.Errorf("directed: got %v", files)
	}
}

// processOf returns the profile of rank r of 3, which sent 7 bytes to the next
// rank in 1 message.
func processOf(run string, start int64, r int) *profile.Profile {
	return &profile.Profile{Run: run, Rank: r, Size: 3, Host: "n", Pid: r + 1, Program: "/bin/app", Start: start, State: profile.Finalized, Threads: 1,
		Comms:  []profile.Comm{{ID: strings.Repeat("0", 32), Name: "MPI_COMM_WORLD", Parent: -1, Rank: r, Members: profile.Group{Stride: 1, N: 3}}},
		Slices: []profile.Slice{{Name: "run"}},
		Rows: []profile.Row{{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer,
			Peer: int32((r + 1) % 3), SizeClass: 3, Calls: 1, Messages: 1, Bytes: 7}}}
}

func arrowFile(t *testing.T, path, run string, ranks ...int) string {
	t.Helper()
	var ps []*profile.Profile
	for _, r := range ranks {
		ps = append(ps, processOf(run, 1, r))
	}
	return arrowOf(t, path, ps)
}

func arrowOf(t *testing.T, path string, ps []*profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	testenv.NoError(t, table.WriteProfile(&b, profile.List(ps)))
	if filepath.Base(path) == "profile.arrow" { // with the other tables of a run
		testenv.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), readback.WriteTables(filepath.Dir(path), profile.List(ps))))
	}
	return put(t, path, b.String())
}

func TestArrowFiles(t *testing.T) {
	dir := t.TempDir()
	files, stderr := mustRun(t, arrowFile(t, filepath.Join(dir, "a.arrow"), "one", 0), arrowFile(t, filepath.Join(dir, "b.arrow"), "one", 2))
	if files["mpi_size_all.mat"] != "0 7 0 \n0 0 0 \n7 0 0 \n" {
		t.Errorf("got %v", files)
	}
	if !strings.Contains(stderr, "nothing from rank 1 of 3") {
		t.Errorf("said %q", stderr)
	}
}

func TestRunDirectory(t *testing.T) {
	dir := t.TempDir()
	var ps []*profile.Profile
	for r := range 3 {
		ps = append(ps, processOf("late", 2_000_000_000, r), processOf("early", 1_000_000_000, r))
	}
	ps = ps[:5] // without the last rank of the early job
	arrowOf(t, filepath.Join(dir, "profile.arrow"), ps)
	files, stderr := mustRun(t, dir)
	if got := len(files); got != 12 {
		t.Errorf("wrote %q", names(files))
	}
	if files["app-job1_size_all.mat"] != "0 7 0 \n0 0 7 \n0 0 0 \n" || files["app-job2_size_all.mat"] != "0 7 0 \n0 0 7 \n7 0 0 \n" {
		t.Errorf("got %v", files)
	}
	if !strings.Contains(stderr, "app-job1: nothing from rank 2 of 3") {
		t.Errorf("said %q", stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "matrix", "app-job2_avg_external.mat")); err != nil {
		t.Error(err)
	}
}

// TestExamples runs the command lines in the help.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	arrowFile(t, filepath.Join("mpitrace-lmp-20240229-134501", "profile.arrow"), "one", 0, 1, 2)
	put(t, "run.0.prof", rankFile(0, 2))
	put(t, "run.1.prof", rankFile(1, 2))
	put(t, "all.prof", rankFile(0, 2)+rankFile(1, 2))
	put(t, "prof/phase_1.0.prof", rankFile(0, 2))
	put(t, "prof/phase_1.1.prof", rankFile(1, 2))
	written := []int{6, 6, 6, 6, 4, 2, 6}
	for i, line := range strings.Split(newCommand().Example, "\n") {
		var stdin strings.Builder
		if before, after, piped := strings.Cut(line, " | "); piped {
			for _, path := range expanded(strings.Fields(before)[1:]) {
				text := testenv.ReadFile(t, path)
				stdin.Write(text)
			}
			line = after
		}
		stdout, _, err := runWith(strings.NewReader(stdin.String()), expanded(strings.Fields(line)[1:])...)
		if got := strings.Count(stdout, "\n"); err != nil || got != written[i] {
			t.Errorf("%s: wrote %q, %v", line, stdout, err)
		}
	}
}

// expanded expands patterns as a shell does.
func expanded(args []string) []string {
	var out []string
	for _, arg := range args {
		if found, _ := filepath.Glob(arg); len(found) > 0 {
			out = append(out, found...)
		} else {
			out = append(out, arg)
		}
	}
	return out
}

// If a phase cannot be written, the phases before it are not written either.
func TestLatePhaseFails(t *testing.T) {
	dir := t.TempDir()
	for phase := 1; phase <= 3; phase++ {
		put(t, filepath.Join(dir, fmt.Sprintf("p_%d.0.prof", phase)), rankFile(0, 2))
	}
	out := filepath.Join(dir, "out")
	mine := put(t, filepath.Join(out, "p_3_msg_all.mat"), "mine")
	if _, _, err := runCommand("-o", out, filepath.Join(dir, "p")); err == nil || !strings.Contains(err.Error(), mine+" exists") {
		t.Errorf("got error %v", err)
	}
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	testenv.NoError(t, os.Remove(mine))
	if files, _ := mustRun(t, "-o", out, filepath.Join(dir, "p")); len(files) != 3*6 {
		t.Errorf("wrote %q", names(files))
	}
}

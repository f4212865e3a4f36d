package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// recordIn records a command that writes its files to its own directory, and
// returns that directory.
func recordIn(t *testing.T, flags []string, command ...string) (j job, at string) {
	t.Helper()
	at, dir := t.TempDir(), filepath.Join(t.TempDir(), "run")
	out := execute(t, nil, slices.Concat([]string{"env", "-C", at, mpitrace, "run", "-o", dir}, flags, []string{"--"}, command)...)
	return job{output: out, dir: dir, ranks: readRecordings(t, dir)}, at
}

// monitored returns the lines of Open MPI's format for what a rank of
// monitoring.c sends, by phase.
func monitored(rank int) map[string][]string {
	const ranks = 4
	histogram := make([]string, 66)
	sent := func(to, bytes, class, n int) string {
		for i := range histogram {
			histogram[i] = "0"
		}
		histogram[class] = fmt.Sprint(n)
		return fmt.Sprintf("E\t%d\t%d\t%d bytes\t%d msgs sent\t%s", rank, to, n*bytes, n, strings.Join(histogram, ","))
	}
	first, second := 26, 51 // numbers of ints; the rank that starts sends one more
	if rank == 0 {
		first++
	}
	if rank == 1 {
		second++
	}
	other := (rank + 2) % ranks
	lines := map[string][]string{"phase_1": {sent((rank+1)%ranks, 4, 3, first)}}
	if rank%2 == 1 {
		lines["phase_2"] = []string{sent(other, 4, 3, second)}
	} else { // an Alltoall and a Barrier
		lines["phase_2"] = []string{fmt.Sprintf("C\t%d\t%d\t2048 bytes\t2 msgs sent", rank, other),
			fmt.Sprintf("A2A\t%d\t2048 bytes\t2 msgs sent", rank)}
	}
	return lines
}

// sentMonitored returns what all ranks of monitoring.c send, by slice.
func sentMonitored() map[string]volumes {
	ring := func(first int) func(from, to int) int {
		return func(from, to int) int {
			if to != (from+1)%4 {
				return -1
			}
			return first
		}
	}
	ints := func(from, to int, n uint64) volumes { return message(from, to, 4).times(n) }
	return map[string]volumes{
		"prof/phase_1": eachPair(4, ring(4)).times(26).plus(message(0, 1, 4)),
		"run":          toOthers(4, size(4*8)), // the Allreduce
		"prof/phase_2": ints(1, 3, 52).plus(ints(3, 1, 51)).plus(messages(0, 2, 2048, 0)).plus(messages(2, 0, 2048, 0)),
		"phase 3":      eachPair(4, ring(8)),
	}
}

// movingLines returns the lines of a .prof file that describe a volume other
// than zero.
func movingLines(t *testing.T, path string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(string(readAll(t, path))) {
		line = strings.TrimSuffix(line, "\n")
		kind, _, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(line, "#") && kind != "D" && !strings.HasSuffix(line, "\t0 bytes\t0 msgs sent") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestMonitoring runs a program for Open MPI's monitoring with all MPIs. With
// Open MPI it runs also while the monitoring is enabled, whose own lookup of
// its variables fails in 4.1.
func TestMonitoring(t *testing.T) {
	const said = "ok\nmost 26 27 26 26\nafter 0 0 0 0\nlengths 0 12\n"
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "monitoring")
		enabled := []string{"--mca", "pml_monitoring_enable", "2", program}
		commands := map[string][]string{"by address": {program}, "by value": {program, "value"}}
		if openMPI(m) {
			commands["enabled"] = enabled
		}
		if m.name == "openmpi" {
			commands["enabled, by value"] = append(slices.Clone(enabled), "value")
		}
		for how, command := range commands {
			t.Run(how, func(t *testing.T) {
				j, at := recordIn(t, []string{"--strict"}, m.launch(4, command...)...)
				if j.code != 0 || j.stdout != said || strings.Contains(j.stderr, "cannot") {
					t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
				}
				checkWhole(t, 4, j)
				if m.name == "openmpi5" && how == "enabled" {
					checkTheirs(t, j, at)
					return
				}
				checkMonitored(t, j, at)
			})
		}
	})
}

// checkMonitored checks the files of the phases, the matrices made from them,
// and that the run's profile has the same volumes.
func checkMonitored(t *testing.T, j job, at string) {
	t.Helper()
	prefix := filepath.Join(at, "prof")
	if files := filesIn(t, prefix); len(files) != 2*4 {
		t.Errorf("files %q, want 4 of each of 2 phases", files)
	}
	for r := range 4 {
		for phase, lines := range monitored(r) {
			diff(t, fmt.Sprintf("%s of rank %d", phase, r), lines, movingLines(t, filepath.Join(prefix, fmt.Sprintf("%s.%d.prof", phase, r))))
		}
	}
	sent := sentMonitored()
	diff(t, "sent by slice", sent, sentIn(j.ranks))
	checkSlicesAddUp(t, j)

	out := t.TempDir()
	succeed(t, nil, toMatrix, filepath.Join(prefix, "phase"), "-o", out)
	for _, phase := range []string{"phase_1", "phase_2"} {
		of := sent["prof/"+phase]
		size, msg := matrixOf(4, of.cell)
		succeed(t, nil, toMatrix, j.dir, "--slice", "prof/"+phase, "-o", out)
		for _, name := range []string{phase, "*slice-prof-" + phase} {
			diff(t, name+" size", size, readMatrix(t, filepath.Join(out, name+"_size_all.mat")))
			diff(t, name+" msg", msg, readMatrix(t, filepath.Join(out, name+"_msg_all.mat")))
		}
	}
}

// checkTheirs checks the files that Open MPI itself writes, and that the
// profile has the same volumes in one slice.
func checkTheirs(t *testing.T, j job, at string) {
	t.Helper()
	for r := range 4 {
		got := movingLines(t, filepath.Join(at, "prof", fmt.Sprintf("phase_1.%d.prof", r)))
		diff(t, fmt.Sprintf("phase_1 of rank %d", r), monitored(r)["phase_1"], got)
	}
	whole := volumes{}
	for _, v := range sentMonitored() {
		whole = whole.plus(v)
	}
	diff(t, "sent by slice", map[string]volumes{"run": whole}, sentIn(j.ranks))
}

// checkSlicesAddUp requires that the slices of the report add up to the totals:
// everything that was sent, and all calls except MPI_Init and MPI_Finalize.
func checkSlicesAddUp(t *testing.T, j job) {
	t.Helper()
	s, _ := reportOf(t, j.dir)
	var got, want aggregate.Totals
	for _, part := range s.Slices {
		got.Calls += part.Calls
		got.Messages += part.Messages
		got.Bytes += part.Bytes
	}
	want.Calls = s.Totals.Calls - 2*uint64(len(j.ranks))
	for _, v := range sentBy(j.ranks) {
		want.Messages += v.sum().Messages
		want.Bytes += v.sum().Bytes
	}
	diff(t, "all slices", want, got)
	names := map[string]bool{}
	for _, part := range s.Slices {
		if names[part.Slice] {
			t.Errorf("the report has two slices %q", part.Slice)
		}
		names[part.Slice] = true
	}
}

// TestPhasesByInterval checks that a phase that is divided into intervals keeps
// its name in all of them.
func TestPhasesByInterval(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j, at := recordIn(t, []string{"--strict", "--interval", "1ms"}, m.launch(4, m.compile(t, "monitoring"))...)
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
		}
		sent := map[string]volumes{}
		for name, v := range sentIn(j.ranks) {
			phase, begin, found := strings.Cut(name, "@")
			if !found || !strings.HasSuffix(begin, "s") {
				t.Errorf("there is a slice %q", name)
			}
			if sent[phase] == nil {
				sent[phase] = volumes{}
			}
			sent[phase] = sent[phase].plus(v)
		}
		diff(t, "sent by phase", sentMonitored(), sent)
		checkSlicesAddUp(t, j)
		for r := range 4 {
			diff(t, "phase_1", monitored(r)["phase_1"], movingLines(t, filepath.Join(at, "prof", fmt.Sprintf("phase_1.%d.prof", r))))
		}
	})
}

// flushed returns what flush.c sends, by file and by slice.
func flushed() (files, parts map[string]volumes) {
	long := strings.Repeat("f", 240)
	to := func(bytes ...int) volumes { return messages(0, 1, bytes...) }
	files = map[string]volumes{
		"prof/first": to(1, 2), "prof/second": to(2, 4), "prof/inner": to(32), "prof/outer": to(16, 32, 64),
		"prof/same": to(5), "prof/taken at last": to(7, 9, 11), long: to(13), "prof/isolated": to(19),
		"prof/after": to(31), "prof/nothing": {},
	}
	parts = map[string]volumes{
		"prof/first": to(1), "prof/second": to(2, 4), "prof/inner": to(32), "prof/outer": to(16, 64),
		"prof/same": to(3, 5), "prof/taken at last": to(7, 9, 11), long[:200]: to(13), "prof/isolated": to(19),
		"run":      to(8, 128, 15, 17),
		"phase 12": to(31), // the recording has nothing after MPI_Finalize
	}
	return files, parts
}

// TestFlush runs phases that overlap, that use a name twice or a name that
// cannot be written, that end after MPI_Finalize, and that never end.
func TestFlush(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		files, parts := flushed()
		for _, unfinished := range []bool{false, true} {
			command := m.launch(2, m.compile(t, "flush"))
			if unfinished {
				command = append(command, "unfinished")
				delete(files, "prof/after")
				delete(files, "prof/nothing")
			}
			j, at := recordIn(t, []string{"--strict"}, command...)
			if j.code != 0 || j.stdout != "ok\n" {
				t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
			}
			checkWhole(t, 2, j)
			diff(t, "sent by slice", parts, sentIn(j.ranks))
			checkSlicesAddUp(t, j)
			diff(t, "files", slices.Sorted(maps.Keys(files)), flushedFiles(t, at))
			for name, v := range files {
				diff(t, name, v, externalOf(t, filepath.Join(at, name+".0.prof")))
				diff(t, name+", rank 1", volumes{}, externalOf(t, filepath.Join(at, name+".1.prof")))
			}
			// A missing directory, a file that cannot be replaced, and a name
			// that is too long.
			if n := strings.Count(j.stderr, "mpitrace: cannot write "); n != 2*3 {
				t.Errorf("%d lines say that a file cannot be written, want 6:\n%s", n, j.stderr)
			}
			for _, path := range []string{"no/directory/is/here.0.prof", "prof/taken.1.prof"} {
				if !strings.Contains(j.stderr, "mpitrace: cannot write "+path) {
					t.Errorf("no message about %s:\n%s", path, j.stderr)
				}
			}
		}
	})
}

// TestFlushBesidePhases checks that phases that a program begins by other calls
// continue during those that it flushes, and are not confused with them.
func TestFlushBesidePhases(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		j, at := recordIn(t, []string{"--strict"}, m.launch(2, m.compile(t, "flush"), "others")...)
		if j.code != 0 || j.stdout != "ok\n" {
			t.Fatalf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
		}
		diff(t, "prof/around", messages(0, 1, 21, 25, 27), externalOf(t, filepath.Join(at, "prof", "around.0.prof")))
		diff(t, "sent by slice", map[string]volumes{
			"phase 1": messages(0, 1, 20, 22), "prof/around": messages(0, 1, 21, 25), "within": messages(0, 1, 27, 29),
		}, sentIn(j.ranks))
	})
}

// flushedFiles returns the names that a program has flushed to. It reports an
// error for any other file in their directories.
func flushedFiles(t *testing.T, at string) []string {
	t.Helper()
	names := map[string]bool{}
	for _, dir := range []string{"", "prof"} {
		entries, err := os.ReadDir(filepath.Join(at, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name, isFile := strings.CutSuffix(strings.NewReplacer(".0.prof", ".prof", ".1.prof", ".prof").Replace(e.Name()), ".prof")
			switch {
			case e.IsDir():
			case !isFile:
				t.Errorf("%s is left", e.Name())
			default:
				names[filepath.Join(dir, name)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TestReadingCost prints the cost of reading Open MPI's monitoring variables,
// with 64 peers at level sweep and 4 otherwise.
func TestReadingCost(t *testing.T) {
	ranks, level, has := 5, testenv.Quick, debian
	if testenv.Runs(testenv.Sweep) {
		ranks, level, has = 65, testenv.Sweep, anyMPI
	}
	withEachAt(t, level, has, func(t *testing.T, m implementation) {
		program := m.compile(t, "mpit_cost", "-O2")
		for _, parts := range []int{1, 10} {
			out := succeed(t, nil, m.launch(ranks, preload(m.library(t), []string{"MPITRACE_DIR=" + filepath.Join(t.TempDir(), "run")},
				program, fmt.Sprint(parts), "2000")...)...)
			first, figures, _ := strings.Cut(out.stdout, "\n")
			diff(t, "what it printed first", "ok", first)
			t.Logf("%d ranks: %s", ranks, strings.TrimSpace(figures))
		}
	})
}

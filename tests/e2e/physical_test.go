package e2e

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// linesOf sums the lines of a kind in files of Open MPI's format, without using
// our reader. It also returns how many of them have a histogram.
func linesOf(t *testing.T, kind string, paths ...string) (sums volumes, histograms int) {
	t.Helper()
	sums = volumes{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // E from to bytes "bytes" messages "msgs" "sent" [histogram]
			if len(f) < 8 || f[0] != kind {
				continue
			}
			var n [4]uint64
			for i, at := range []int{1, 2, 3, 5} {
				if n[i], err = strconv.ParseUint(f[at], 10, 64); err != nil {
					t.Fatal(err)
				}
			}
			sums.add(int(n[0]), int(n[1]), n[2], n[3])
			histograms += len(f) - 8
		}
	}
	return sums, histograms
}

// filesOfRanks returns one file per rank, given a pattern with %d for the rank.
func filesOfRanks(t *testing.T, pattern string, n int) (paths []string) {
	t.Helper()
	for r := range n {
		found, err := filepath.Glob(fmt.Sprintf(pattern, r))
		if err != nil || len(found) != 1 {
			t.Fatalf("rank %d: found %q (%v), want one file", r, found, err)
		}
		paths = append(paths, found...)
	}
	return paths
}

func physicalIn(t *testing.T, dir string) []*aggregate.PhysicalComparison {
	t.Helper()
	var report struct {
		Jobs []struct{ Physical *aggregate.PhysicalComparison }
	}
	out := succeed(t, nil, mpitrace, "report", "--json", dir)
	if err := json.Unmarshal([]byte(out.stdout), &report); err != nil {
		t.Fatal(err)
	}
	var all []*aggregate.PhysicalComparison
	for _, j := range report.Jobs {
		all = append(all, j.Physical)
	}
	return all
}

// TestPhysicalHalo checks that the data of Open MPI's monitoring component is
// in all outputs of the run, and that the program's own volumes are as without
// --physical.
func TestPhysicalHalo(t *testing.T) {
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		p := plate{rows: 31, cols: 25, steps: 20, down: 2, across: 2}
		program := m.compileFile(t, filepath.Join(root, "examples", "halo", "halo.c"))
		j := record(t, []string{"--physical", "--strict", "--format", "prof"}, m.launch(4, program, "-n", "31", "-m", "25", "-s", "20")...)
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s", j.code, j.stderr)
		}
		checkWhole(t, 4, j)
		theirs := filesOfRanks(t, filepath.Join(j.dir, "physical", "*.%d.prof"), 4)
		ours := filesOfRanks(t, filepath.Join(j.dir, "prof", "halo.%d.prof"), 4)
		external, _ := linesOf(t, "E", theirs...)
		internal, alone := linesOf(t, "I", theirs...)
		if len(external) != 8 || len(internal) == 0 {
			t.Fatalf("Open MPI reports %d and %d pairs", len(external), len(internal))
		}
		diff(t, "point-to-point, theirs", pointToPoint(j.ranks), external)
		for kind, want := range map[string]volumes{"E": external, "I": internal} {
			got, n := linesOf(t, kind, ours...)
			diff(t, kind+" lines", want, got)
			if kind == "I" && n != alone {
				t.Errorf("%d I lines with a histogram, want %d", n, alone)
			}
		}
		p.checkAsked(t, j, internal)
		p.checkSent(t, j, external, internal)
		checkExports(t, j.dir, ours, internal)
	})
}

// checkAsked checks the matrices of what the program asked for, which are those
// of a run without --physical, and the additional internal ones.
func (p plate) checkAsked(t *testing.T, j job, internal volumes) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "matrices")
	succeed(t, nil, toMatrix, j.dir, "-o", out)
	for kind, cell := range map[string]func(from, to int) (int, int){
		"all": p.all, "external": p.external, "coll": p.collective, "internal": internal.cell,
	} {
		size, msg := matrixOf(4, cell)
		diff(t, "size_"+kind, size, readMatrix(t, filepath.Join(out, "*_size_"+kind+".mat")))
		diff(t, "msg_"+kind, msg, readMatrix(t, filepath.Join(out, "*_msg_"+kind+".mat")))
	}
}

// cell returns an entry of a matrix.
func (v volumes) cell(from, to int) (bytes, messages int) {
	of := v[pair{from, to}]
	return int(of.Bytes), int(of.Count)
}

// checkSent checks the matrices and the report's totals of what the library
// sent.
func (p plate) checkSent(t *testing.T, j job, external, internal volumes) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "matrices")
	succeed(t, nil, toMatrix, "--class", "physical", "--format", "mat,png,svg", j.dir, "-o", out)
	all := external.plus(internal)
	for kind, want := range map[string]volumes{"all": all, "external": external, "internal": internal} {
		size, msg := matrixOf(4, want.cell)
		diff(t, "physical size_"+kind, size, readMatrix(t, filepath.Join(out, "*_size_"+kind+".mat")))
		diff(t, "physical msg_"+kind, msg, readMatrix(t, filepath.Join(out, "*_msg_"+kind+".mat")))
		for _, picture := range []string{"png", "svg"} {
			if found, _ := filepath.Glob(filepath.Join(out, "*_size_"+kind+"."+picture)); len(found) != 1 {
				t.Errorf("pictures %q, want one", found)
			}
		}
	}
	got := physicalIn(t, j.dir)[0]
	if want := all.sum(); got == nil || got.Known != 4 || got.Sum != want {
		t.Errorf("the report has %+v, want %+v of 4 ranks", got, want)
	}
	if got.External.Volume != external.sum() || got.Internal.Volume != internal.sum() || got.Asked != external.sum() {
		t.Errorf("the report has %+v", got)
	}
}

func (v volumes) sum() (sum matrix.Volume) {
	for _, part := range v {
		sum.Bytes += part.Bytes
		sum.Messages += part.Count
	}
	return sum
}

// checkExports requires that the exported tables have the internal messages,
// and that an exported Arrow file gives the same .prof files.
func checkExports(t *testing.T, run string, profs []string, internal volumes) {
	t.Helper()
	dir := t.TempDir()
	tables, back := filepath.Join(dir, "tables"), filepath.Join(dir, "prof")
	succeed(t, nil, mpitrace, "export", run, "--format", "arrow", "--tables", "all", "-o", tables)
	succeed(t, nil, mpitrace, "export", filepath.Join(tables, "profile.arrow"), "--format", "prof", "-o", back)
	for _, path := range profs {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(back, filepath.Base(path)))
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "arrow and back: "+filepath.Base(path), blocksOf(string(want)), blocksOf(string(got)))
	}
	diff(t, "rows of csv", internal, internalOfCSV(t, succeed(t, nil, mpitrace, "export", run, "--format", "csv", "-o", "-").stdout))
	diff(t, "rows of json", internal, internalOfJSON(t, succeed(t, nil, mpitrace, "export", run, "--format", "json", "-o", "-").stdout))
}

// blocksOf returns the beginning of a .prof file and its blocks of communicators, sorted: the
// tables do not have the order in which a process made its communicators.
func blocksOf(text string) []string {
	blocks := strings.Split(text, "\nD\t")
	for i := range blocks {
		blocks[i] = strings.TrimSuffix(blocks[i], "\n")
	}
	slices.Sort(blocks[1:])
	return blocks
}

func internalOfCSV(t *testing.T, text string) volumes {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(records[0], name) }
	out := volumes{}
	for _, r := range records[1:] {
		if r[column("class")] != "internal" {
			continue
		}
		var n [4]uint64
		for i, name := range []string{"rank", "peer", "bytes", "messages"} {
			if n[i], err = strconv.ParseUint(r[column(name)], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		out.add(int(n[0]), int(n[1]), n[2], n[3])
	}
	return out
}

func internalOfJSON(t *testing.T, text string) volumes {
	t.Helper()
	out := volumes{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		var row struct {
			Class           string
			Rank, Peer      int
			Bytes, Messages uint64
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Class == "internal" {
			out.add(row.Rank, row.Peer, row.Bytes, row.Messages)
		}
	}
	return out
}

// TestPhysicalByArithmetic checks volumes known by arithmetic: any tree of four
// ranks has three edges. Open MPI is known to count the messages of Alltoallv
// as those of the program.
func TestPhysicalByArithmetic(t *testing.T) {
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "physical")
		j := record(t, []string{"--physical", "--strict"}, m.launch(4, program)...)
		trees, alltoallv := matrix.Volume{Bytes: 5 * 2 * 3 * 8, Messages: 5 * 2 * 3}, matrix.Volume{Bytes: 5 * 12 * 8, Messages: 5 * 12}
		got := physicalIn(t, j.dir)[0]
		if j.code != 0 || got == nil || got.Internal.Volume != trees || got.External.Volume != alltoallv || got.Asked != (matrix.Volume{}) {
			t.Errorf("exit status %d, %+v, want %v and %v\n%s", j.code, got, alltoallv, trees, j.stderr)
		}
		if !strings.Contains(fullReport(t, j.dir), "differs from the program's, 0 messages") {
			t.Errorf("the difference is not reported:\n%s", j.stderr)
		}

		j = record(t, []string{"--physical", "--strict"}, m.launch(4, program, "sends")...)
		got = physicalIn(t, j.dir)[0]
		sends := matrix.Volume{Bytes: 500, Messages: 5}
		if j.code != 0 || got == nil || got.Internal.Volume != (matrix.Volume{}) || got.External.Volume != sends || got.Asked != sends {
			t.Errorf("exit status %d, without collectives: %+v\n%s", j.code, got, j.stderr)
		}
	})
}

// TestPhysicalBesideMPIT checks that settings for which the library opens MPI_T
// lose no physical data.
func TestPhysicalBesideMPIT(t *testing.T) {
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "physical")
		trees := matrix.Volume{Bytes: 5 * 2 * 3 * 8, Messages: 5 * 2 * 3}
		for _, flag := range []string{"--cvar=mpi_abort_delay=3", "--pvar=*", "--watch-unexpected=1"} {
			j := record(t, []string{"--physical", flag}, m.launch(4, program)...)
			if got := physicalIn(t, j.dir)[0]; j.code != 0 || got == nil || got.Known != 4 || got.Internal.Volume != trees {
				t.Errorf("%s: exit status %d, %+v, want %v\n%s", flag, j.code, got, trees, j.stderr)
			}
		}
	})
}

// TestPhysicalOfSeveralJobs checks that each job of a run directory has its own
// data, if a script launches them and if their ranks record themselves.
func TestPhysicalOfSeveralJobs(t *testing.T) {
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		program, dir := m.compile(t, "physical"), t.TempDir()
		line := func(before ...string) string {
			return strings.Join(slices.Concat(m.launcher, []string{"-n", "4"}, before, []string{program}), " ")
		}
		script := filepath.Join(dir, "job.sh")
		if err := os.WriteFile(script, []byte("#!/bin/sh\nset -e\n"+line()+"\n"+line()+" sends\n"+line()+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		run := filepath.Join(dir, "script")
		succeed(t, nil, mpitrace, "run", "-o", run, "--physical", "--strict", "--cc", m.cc, "--", script)
		checkOwnMessages(t, run, 30, 0, 30)

		run = filepath.Join(dir, "ranks")
		succeed(t, nil, mpitrace, "build", "--cc", m.cc)
		for _, argument := range []string{"sends", ""} {
			command := append(m.launch(4, mpitrace, "run", "-o", run, "--physical", "--"), program)
			if argument != "" {
				command = append(command, argument)
			}
			succeed(t, nil, command...)
		}
		checkOwnMessages(t, run, 0, 30)
	})
}

// checkOwnMessages checks the number of the library's own messages in each job.
func checkOwnMessages(t *testing.T, run string, want ...uint64) {
	t.Helper()
	var got []uint64
	for _, p := range physicalIn(t, run) {
		if p == nil || p.Known != 4 {
			t.Fatalf("%+v, want all of 4 ranks", p)
		}
		got = append(got, p.Internal.Messages)
	}
	diff(t, "the library's own messages, by job", want, got)
}

// TestPhysicalOfTheKilled kills a rank, so that it and the other ranks write no
// physical data. The rest of the recordings must be complete.
func TestPhysicalOfTheKilled(t *testing.T) {
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		// After a rank was killed, Open MPI 4.1's launcher sometimes does not end,
		// although all ranks have.
		limit := []string{"timeout", "--kill-after=5", "60"}
		j := record(t, []string{"--physical"}, slices.Concat(limit, m.launch(4, m.compile(t, "dying"), t.TempDir(), "SIGKILL", "1", "20"))...)
		if j.code == 0 || len(j.ranks) != 4 {
			t.Fatalf("exit status %d, %d recordings\n%s", j.code, len(j.ranks), j.stderr)
		}
		if !strings.Contains(fullReport(t, j.dir), "what the MPI library sent on ranks 0-3 is unknown: they did not reach MPI_Finalize") {
			t.Errorf("no message is printed:\n%s", j.stderr)
		}
		if got := physicalIn(t, j.dir)[0]; got == nil || got.Known != 0 || len(got.Unknown) != 1 {
			t.Errorf("got %+v", got)
		}
		if sent := callsBy(j.ranks)["Sendrecv"]; sent == nil || sent[1] != 20 {
			t.Errorf("calls of Sendrecv: %v, want 20 by rank 1", sent)
		}
	})
}

// TestPhysicalBesideSettings checks that --physical replaces the user's
// settings of the monitoring component, and that the component is used even if
// the user selects others.
func TestPhysicalBesideSettings(t *testing.T) {
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		program, mine := m.compile(t, "physical"), filepath.Join(t.TempDir(), "mine")
		command := append(m.launch(4, "--mca", "pml", "ob1", "--mca", "coll", "tuned,libnbc,basic,self,inter", "--mca", "pml_monitoring_enable", "1",
			"--mca", "pml_monitoring_filename", mine), program)
		j := record(t, []string{"--physical", "--strict"}, command...)
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s", j.code, j.stderr)
		}
		checkOwnMessages(t, j.dir, 30)
		said := "--physical: pml_monitoring_enable is set to 2 instead of 1; pml_monitoring_filename is not " + mine
		if n := strings.Count(j.stderr, said); n != 1 {
			t.Errorf("%q is printed %d times:\n%s", said, n, j.stderr)
		}
		if found, _ := filepath.Glob(mine + "*"); found != nil {
			t.Errorf("unexpected file %q", found)
		}

		j = record(t, []string{"--physical", "--strict"}, append(m.launch(4, "--mca", "coll", "^monitoring"), program)...)
		if j.code != 3 || !strings.Contains(j.stderr, "coll is ^monitoring, which excludes the monitoring") ||
			!strings.Contains(fullReport(t, j.dir), "what the MPI library sent on ranks 0-3 is unknown: Open MPI's monitoring wrote no file") {
			t.Errorf("without the monitoring component: exit status %d\n%s", j.code, j.stderr)
		}
	})
}

// TestPhysicalOfSpawned checks that spawned processes, which inherit their
// parents' environment, do not overwrite their parents' files. Open MPI 4.1.4
// crashes when the children end with its monitoring enabled.
func TestPhysicalOfSpawned(t *testing.T) {
	withEach(t, func(m implementation) bool { return m.name == "openmpi5" }, func(t *testing.T, m implementation) {
		j := record(t, []string{"--physical"}, m.launch(2, m.compile(t, "spawned"))...)
		checkParents(t, j, 2*7)
		got := physicalIn(t, j.dir)[0]
		if got == nil || got.Known != 2 {
			t.Fatalf("got %+v\n%s", got, j.stderr)
		}
		inherited, _ := filepath.Glob(filepath.Join(j.dir, "physical", "inherited.*.prof"))
		all, _ := filepath.Glob(filepath.Join(j.dir, "physical", "*.prof"))
		if len(inherited) != 2 || len(all) != 4 {
			t.Errorf("files %q", all)
		}
	})
}

// TestPhysicalNeedsOpenMPI checks that other MPIs are refused before anything
// is launched.
func TestPhysicalNeedsOpenMPI(t *testing.T) {
	withEach(t, func(m implementation) bool { return !openMPI(m) }, func(t *testing.T, m implementation) {
		testenv.Need(t, m.cc)
		j := record(t, []string{"--physical"}, m.launch(2, m.compile(t, "physical"))...)
		name := "MPICH"
		if m.name == "impi" {
			name = "Intel MPI"
		}
		if j.code != 2 || j.stdout != "" || !strings.Contains(j.stderr, "--physical: "+name+" does not count the messages that it sends on its own behalf") {
			t.Errorf("exit status %d\n%s%s", j.code, j.stdout, j.stderr)
		}
		if _, err := os.Stat(j.dir); err == nil {
			t.Error("there is a run directory")
		}
		// With --physical in the user's configuration, runs of other MPIs go
		// without it.
		dir := filepath.Join(t.TempDir(), "run")
		out := succeed(t, []string{"MPITRACE_PHYSICAL=on"}, slices.Concat([]string{mpitrace, "run", "-o", dir, "--"}, m.launch(4, m.compile(t, "physical")))...)
		if !strings.Contains(out.stderr, "continuing without it (set by MPITRACE_PHYSICAL)") || strings.Contains(out.stderr, "not known") {
			t.Errorf("the report\n%s", out.stderr)
		}
	})
}

// TestPhysicalBesideAScriptsSettings has a launcher in a script exclude the
// component in such a way that programs would crash. --physical is then off.
func TestPhysicalBesideAScriptsSettings(t *testing.T) {
	withEach(t, openMPI, func(t *testing.T, m implementation) {
		command := m.launch(2, "--mca", "coll", "tuned,libnbc,basic,self,inter", m.compileFile(t, filepath.Join(root, "examples", "halo", "halo.c")), "-s", "2")
		script := filepath.Join(t.TempDir(), "job.sh")
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+strings.Join(command, " ")+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		j := record(t, []string{"--physical", "--cc", m.cc}, script)
		if j.code != 0 || !strings.Contains(j.stderr, "the messages that the MPI library itself sends are not recorded: coll is tuned,libnbc,basic,self,inter, without monitoring") ||
			!strings.Contains(fullReport(t, j.dir), "what the MPI library sent on ranks 0-1 is unknown: Open MPI's monitoring wrote no file") {
			t.Errorf("exit status %d\n%s", j.code, j.stderr)
		}
	})
}

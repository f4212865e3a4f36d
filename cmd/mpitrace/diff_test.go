package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A plate is the domain of examples/halo, on 2 x 2 ranks.
type plate struct{ rows, cols, steps int }

// halo records a run of a version of the program and returns the run directory.
func (p plate) halo(t *testing.T, m mpi, dir, name, program string) string {
	t.Helper()
	got := sh(t, dir, "$mpitrace run --no-report -o "+name+" -- "+m.launcher+" -n 4 "+program+
		" -n "+strconv.Itoa(p.rows)+" -m "+strconv.Itoa(p.cols)+" -s "+strconv.Itoa(p.steps))
	if got.code != 0 {
		t.Fatalf("status %d\n%s", got.code, got.stderr)
	}
	return filepath.Join(dir, name)
}

// half returns how many of n points are in the first or second half.
func half(n, which int) int { return (n + 1 - which) / 2 }

// borders returns the bytes and messages of the Isends in one direction. 2
// ranks send one in each step, together a whole row or column of doubles.
func (p plate) borders(points int) matrix.Volume {
	return matrix.Volume{Bytes: uint64(p.steps * points * 8), Messages: uint64(p.steps * 2)}
}

func (p plate) isends() matrix.Volume {
	down, across := p.borders(p.cols), p.borders(p.rows)
	return matrix.Volume{Bytes: 2 * (down.Bytes + across.Bytes), Messages: 2 * (down.Messages + across.Messages)}
}

// residuals returns the volume of the Allreduces of one double, from each of 4
// ranks to 3 others.
func (p plate) residuals() matrix.Volume {
	return matrix.Volume{Bytes: uint64(p.steps * 12 * 8), Messages: uint64(p.steps * 12)}
}

// peaks returns the volume of the Allreduces of a block's columns, from each
// rank to the other rank in its column.
func (p plate) peaks() matrix.Volume {
	return matrix.Volume{Bytes: uint64(2 * p.cols * 8), Messages: 4}
}

// others returns the volumes of the Reduce of the row sums and of the Gather of
// two doubles.
func (p plate) others() (reduce, gather matrix.Volume) {
	return matrix.Volume{Bytes: uint64(p.rows * 8), Messages: 2}, matrix.Volume{Bytes: 3 * 2 * 8, Messages: 3}
}

// pair returns what one rank sends another, including collectives.
func (p plate) pair(from, to int) matrix.Volume {
	i, j, k, l := from/2, from%2, to/2, to%2
	rows, cols := half(p.rows, i), half(p.cols, j)
	bytes, messages := p.steps*8, p.steps
	switch {
	case j == l: // a border in each step, and the peaks
		bytes, messages = bytes+p.steps*cols*8+cols*8, messages+p.steps+1
	case i == k:
		bytes, messages = bytes+p.steps*rows*8, messages+p.steps
		if l == 0 { // the Reduce of the row sums
			bytes, messages = bytes+rows*8, messages+1
		}
	}
	if to == 0 { // the Gather
		bytes, messages = bytes+2*8, messages+1
	}
	return matrix.Volume{Bytes: uint64(bytes), Messages: uint64(messages)}
}

func sum(volumes ...matrix.Volume) (s matrix.Volume) {
	for _, v := range volumes {
		s.Bytes, s.Messages = s.Bytes+v.Bytes, s.Messages+v.Messages
	}
	return s
}

func change(a, b matrix.Volume) aggregate.Transfers {
	return aggregate.Transfers{Bytes: aggregate.Measure{A: a.Bytes, B: b.Bytes}, Messages: aggregate.Measure{A: a.Messages, B: b.Messages}}
}

// diffs returns the comparisons that a command printed as JSON.
func diffs(t *testing.T, got output) []*aggregate.Diff {
	t.Helper()
	var out struct{ Jobs []*aggregate.Diff }
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil || len(out.Jobs) == 0 {
		t.Fatalf("status %d, %v\n%s%s", got.code, err, got.stderr, got.stdout)
	}
	return out.Jobs
}

// haloVersions compiles examples/halo and a second version, in which two empty
// lines precede all communication. source is the text of the second version.
func haloVersions(t *testing.T, m mpi, dir string) (a, b string, source []string) {
	t.Helper()
	text := testenv.ReadFile(t, "../../examples/halo/halo.c")
	for _, v := range []string{"a", "b"} {
		if v == "b" {
			text = []byte(strings.Replace(string(text), "static void swap_borders", "\n\nstatic void swap_borders", 1))
		}
		folder := filepath.Join(dir, "version-"+v)
		testenv.Mkdir(t, folder)
		testenv.WriteFile(t, filepath.Join(folder, "halo.c"), text)
		cc := exec.Command(m.cc, "-g", "-O1", "halo.c", "-o", "halo", "-lm")
		cc.Dir = folder
		if out, err := cc.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return filepath.Join(dir, "version-a", "halo"), filepath.Join(dir, "version-b", "halo"), strings.Split(string(text), "\n")
}

// TestDiffHalo compares runs of two versions of the program on two plates. It
// requires exactly the changes that follow by arithmetic.
func TestDiffHalo(t *testing.T) {
	withEach(t, func(t *testing.T, m mpi) {
		dir := t.TempDir()
		first, second, source := haloVersions(t, m, dir)
		x, y := plate{31, 25, 20}, plate{31, 51, 30}
		a, b := x.halo(t, m, dir, "a", first), y.halo(t, m, dir, "b", second)
		got := call("diff", "--json", "--ignore-time", "--top", "all", a, b)
		if got.code != 0 || got.stderr != "" {
			t.Errorf("status %d\n%s", got.code, got.stderr)
		}
		d := diffs(t, got)[0]
		checkHaloSums(t, d, x, y)
		checkHaloSites(t, d, x, y, source)
		checkHaloPairs(t, d, x, y)
		checkFailIfWorse(t, a, b)
		files := call("diff", "--json", "--ignore-time", "--top", "all", a+"/profile.arrow", b+"/profile.arrow")
		withoutWhatTablesLack(d)
		if diff := cmp.Diff(d, diffs(t, files)[0]); diff != "" {
			t.Errorf("of Arrow files:\n%s", diff)
		}
		checkMixed(t, m, dir, a)
	})
}

// withoutWhatTablesLack removes what the columns of Arrow files do not have: settings,
// variables, directories and build ids of modules (decision 91).
func withoutWhatTablesLack(d *aggregate.Diff) {
	d.Settings, d.Variables = nil, nil
	for _, side := range []*aggregate.DiffSide{&d.A, &d.B} {
		for i := range side.Programs {
			side.Programs[i].BuildID = ""
		}
	}
	for i := range d.CallSites {
		for _, place := range []*aggregate.NamedPlace{&d.CallSites[i].NamedPlace, d.CallSites[i].Was} {
			if place != nil {
				place.Module, place.BuildID = filepath.Base(place.Module), ""
			}
		}
	}
}

// checkMixed compares a run that has settings and variables with its own Arrow file, which
// has neither. What one side does not know is no difference, and is said once.
func checkMixed(t *testing.T, m mpi, dir, plain string) {
	t.Helper()
	name := map[string]string{"openmpi": "btl", "mpich": "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"}[m.name]
	t.Setenv("OMPI_MCA_btl", "self,vader") // the other MPI does not know it
	t.Setenv("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "1000")
	t.Setenv("MPITRACE_WATCH_UNEXPECTED", "3")
	set := plate{31, 25, 20}.halo(t, m, dir, "set", filepath.Join(dir, "version-a", "halo"))
	of := func(d *aggregate.Diff) (names []string) {
		for _, c := range append(d.Settings, d.Variables...) {
			names = append(names, c.Name)
		}
		return names
	}
	runs := call("diff", "--json", "--ignore-time", plain, set)
	if got := of(diffs(t, runs)[0]); !slices.Contains(got, "watch-unexpected") || !slices.Contains(got, name) || runs.stderr != "" {
		t.Errorf("of runs: %q, %s", got, runs.stderr)
	}
	parts, tables := filepath.Join(dir, "parts"), filepath.Join(dir, "history", "tables")
	for _, table := range []string{"profile", "ranks", "comms"} {
		copyTo(t, filepath.Join(set, table+".arrow"), filepath.Join(parts, table, "part-0.arrow"))
		copyTo(t, filepath.Join(set, table+".arrow"), filepath.Join(tables, table+".arrow"))
	}
	copyTo(t, filepath.Join(set, "run.json"), filepath.Join(tables, "run.json"))
	file, dataset := filepath.Join(set, "profile.arrow"), filepath.Join(parts, "profile")
	for _, sides := range [][]string{{file, set}, {set, file}, {dataset, set}, {tables, set}} {
		const lacks = "does not have settings, control variables"
		mixed := call(append([]string{"diff", "--json", "--ignore-time"}, sides...)...)
		d := diffs(t, mixed)[0]
		if d.Settings != nil || d.Variables != nil || d.Late != nil || d.Total.Status != aggregate.StatusSame || strings.Count(mixed.stderr, lacks) != 1 {
			t.Errorf("%q: settings %v, variables %v, late receives %v, %s: %s", sides, of(d), d.Variables, d.Late, d.Total.Status, mixed.stderr)
		}
		text := call(append([]string{"diff", "--ignore-time"}, sides...)...)
		if text.code != 0 || strings.Contains(text.stdout, " in A, ") || !strings.Contains(text.stdout, "nothing changed in bytes and messages") {
			t.Errorf("%q: %+v", sides, text)
		}
	}
	testenv.NoError(t, os.Rename(set, filepath.Join(dir, "history", "set")))
	got := call("history", filepath.Join(dir, "history"))
	if got.code != 0 || strings.Count(got.stdout, "settings and MPI variables are not compared") != 1 || strings.Contains(got.stdout, "watch-unexpected") {
		t.Errorf("history: %+v", got)
	}
}

func copyTo(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err = errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o777), os.WriteFile(to, content, 0o666)); err != nil {
		t.Fatal(err)
	}
}

func checkHaloSums(t *testing.T, d *aggregate.Diff, x, y plate) {
	t.Helper()
	reduce, gather := x.others()
	all := func(p plate) matrix.Volume { return sum(p.isends(), p.residuals(), p.peaks(), reduce, gather) }
	if want := change(all(x), all(y)); d.Total.Transfers != want {
		t.Errorf("total %+v, want %+v", d.Total.Transfers, want)
	}
	calls := map[string]aggregate.Transfers{}
	for _, c := range d.Calls {
		calls[c.Call] = c.Transfers
		if waits := (aggregate.Measure{A: uint64(4 * x.steps), B: uint64(4 * y.steps)}); c.Call == "Waitall" && c.Calls != waits {
			t.Errorf("%+v calls of Waitall, want %+v", c.Calls, waits)
		}
	}
	isends := change(x.isends(), y.isends())
	want := map[string]aggregate.Transfers{"Isend": isends, "Irecv": isends, "Waitall": {},
		"Allreduce": change(sum(x.residuals(), x.peaks()), sum(y.residuals(), y.peaks()))}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls:\n%s", diff)
	}
	comms := map[string]aggregate.Transfers{}
	for _, c := range d.Comms {
		comms[c.Communicator] = c.Transfers
	}
	want = map[string]aggregate.Transfers{"column": change(x.peaks(), y.peaks()),
		"grid": change(sum(x.isends(), x.residuals(), gather), sum(y.isends(), y.residuals(), gather))}
	if diff := cmp.Diff(want, comms); diff != "" {
		t.Errorf("communicators:\n%s", diff)
	}
}

// checkHaloSites requires that each call site is matched, although it is two
// lines further down.
func checkHaloSites(t *testing.T, d *aggregate.Diff, x, y plate, source []string) {
	t.Helper()
	down, across := change(x.borders(x.cols), y.borders(y.cols)), change(x.borders(x.rows), y.borders(y.rows))
	want := map[string]aggregate.Transfers{"MPI_Waitall(2": {}, "MPI_Allreduce(&mine": change(x.residuals(), y.residuals()),
		"MPI_Allreduce(MPI_IN_PLACE": change(x.peaks(), y.peaks())}
	for text, v := range map[string]aggregate.Transfers{"to[UP]": down, "to[DOWN]": down, "to[LEFT]": across, "to[RIGHT]": across} {
		want["MPI_Isend "+text], want["MPI_Irecv "+text] = v, v
	}
	if len(d.CallSites) != len(want) {
		t.Errorf("%d call sites changed, want %d", len(d.CallSites), len(want))
	}
	for text, v := range want {
		words := strings.Fields(text)
		line := 1 + slices.IndexFunc(source, func(s string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s, w) })
		})
		i := slices.IndexFunc(d.CallSites, func(c aggregate.SiteChange) bool { return c.Line == line })
		if i < 0 {
			t.Errorf("%s, in line %d, is not listed", text, line)
			continue
		}
		if c := d.CallSites[i]; c.Was == nil || c.Was.Line != line-2 || c.Status != aggregate.StatusChanged || c.Transfers != v {
			t.Errorf("%s: got %+v, from %+v, want %+v, from line %d", text, c.Changes, c.Was, v, line-2)
		}
	}
}

func checkHaloPairs(t *testing.T, d *aggregate.Diff, x, y plate) {
	t.Helper()
	if d.Pairs.Changed != 12 || len(d.Pairs.Most) != 12 {
		t.Fatalf("%d pairs changed, %d are listed, want all 12", d.Pairs.Changed, len(d.Pairs.Most))
	}
	for _, c := range d.Pairs.Most {
		if want := change(x.pair(c.From, c.To), y.pair(c.From, c.To)); c.Transfers != want {
			t.Errorf("%d to %d: %+v, want %+v", c.From, c.To, c.Transfers, want)
		}
	}
}

// checkFailIfWorse checks limits against these changes, known by arithmetic:
//
//	             bytes                       messages
//	Isend, Irecv 17,920 to 39,360 (+119.6 %) 160 to 240 (+50 %)
//	Allreduce     2,320 to  3,696 (+59.3 %)  244 to 364 (+49.2 %)
//	total        20,536 to 43,352 (+111.1 %) 409 to 609 (+48.9 %)
func checkFailIfWorse(t *testing.T, a, b string) {
	t.Helper()
	for _, test := range []struct {
		a, b, limits string
		want         []string
	}{
		{a, b, "bytes=111%,messages=50%", []string{"total bytes", "Irecv bytes", "Isend bytes"}},
		{a, b, "bytes=120%,messages=50%", nil},
		{a, b, "messages=49%", []string{"Irecv messages", "Isend messages", "Allreduce messages"}},
		{a, b, "60%,messages=60%", []string{"total bytes", "Irecv bytes", "Isend bytes"}},
		{b, a, "0%", nil},
		{a, a, "0%", nil},
	} {
		got := call("diff", "--ignore-time", "--json", "--fail-if-worse", test.limits, test.a, test.b)
		var names []string
		for _, e := range diffs(t, got)[0].Exceeded {
			names = append(names, e.Of+" "+string(e.Name))
		}
		status := 0
		if len(test.want) > 0 {
			status = exitExceeded
		}
		if got.code != status || !slices.Equal(names, test.want) || !strings.Contains(got.stderr, strings.Join(test.want, ", ")) {
			t.Errorf("%s: status %d, exceeded %q, want %d, %q\n%s", test.limits, got.code, names, status, test.want, got.stderr)
		}
	}
}

// mergedJobs makes a run directory of jobs of one rank each. sent is the number
// of bytes that each rank sent to itself.
func mergedJobs(t *testing.T, sent ...uint64) string {
	t.Helper()
	var jobs []testJob
	for _, bytes := range sent {
		jobs = append(jobs, testJob{"app", 1, bytes})
	}
	return mergedPrograms(t, jobs...)
}

// testJob is a job whose rank 0 sent a number of bytes to itself.
type testJob struct {
	program string
	ranks   int
	sent    uint64
}

func mergedPrograms(t *testing.T, jobs ...testJob) string {
	t.Helper()
	var ps profile.List
	for i, job := range jobs {
		for rank := range job.ranks {
			p := &profile.Profile{Run: strconv.Itoa(i), Rank: rank, Size: job.ranks, Program: "/bin/" + job.program, State: profile.Finalized, Start: int64(i + 1),
				Comms: []profile.Comm{{ID: "01", Name: "MPI_COMM_WORLD", Parent: -1, Members: profile.Group{Stride: 1, N: job.ranks}}}}
			if rank == 0 {
				p.Rows = []profile.Row{{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer,
					Calls: 1, Messages: 1, Bytes: job.sent}}
			}
			ps = append(ps, p)
		}
	}
	dir := rundir.Dir(t.TempDir())
	writeMerged(t, dir, ps)
	return string(dir)
}

func TestDiffJobs(t *testing.T) {
	one, two, three := mergedJobs(t, 100), mergedJobs(t, 100, 200), mergedJobs(t, 110, 230, 370)
	for _, test := range []struct {
		args string
		want []aggregate.Measure // bytes of each compared job
	}{
		{two + " " + two, []aggregate.Measure{{A: 100, B: 100}, {A: 200, B: 200}}},
		{"--job 2 " + two + " " + three, []aggregate.Measure{{A: 200, B: 230}}},
		{"--job 3 " + one + " " + three, []aggregate.Measure{{A: 100, B: 370}}},
		{one + " " + one, []aggregate.Measure{{A: 100, B: 100}}},
	} {
		var got []aggregate.Measure
		for _, d := range diffs(t, call(strings.Fields("diff --json "+test.args)...)) {
			got = append(got, d.Total.Bytes)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.args, got, test.want)
		}
	}
	if got := call("diff", two, two); strings.Count(got.stdout, "nothing changed in bytes and messages") != 2 ||
		!strings.Contains(got.stdout, two+", job 2: app on 1 rank") {
		t.Errorf("the text of two jobs:\n%s", got.stdout)
	}
}

// TestDiffMatchesJobs requires that the jobs of the run with fewer jobs are
// matched by program and number of ranks, independent of their order.
func TestDiffMatchesJobs(t *testing.T) {
	batch := mergedPrograms(t, testJob{"prepare", 1, 1}, testJob{"solve", 2, 20}, testJob{"solve", 4, 40}, testJob{"plot", 1, 3})
	solve2, solve4 := mergedPrograms(t, testJob{"solve", 2, 25}), mergedPrograms(t, testJob{"solve", 4, 44}, testJob{"prepare", 1, 7})
	for _, test := range []struct {
		args string
		want []aggregate.Measure // bytes of each compared job
	}{
		{batch + " " + solve2, []aggregate.Measure{{A: 20, B: 25}}},
		{solve2 + " " + batch, []aggregate.Measure{{A: 25, B: 20}}},
		{batch + " " + solve4, []aggregate.Measure{{A: 40, B: 44}, {A: 1, B: 7}}},
		{"--job 4:2 " + batch + " " + solve4, []aggregate.Measure{{A: 3, B: 7}}},
		{"--job 1:1 " + solve2 + " " + batch, []aggregate.Measure{{A: 25, B: 1}}},
	} {
		var got []aggregate.Measure
		for _, d := range diffs(t, call(strings.Fields("diff --json "+test.args)...)) {
			got = append(got, d.Total.Bytes)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.args, got, test.want)
		}
	}
	if got := call("diff", batch, solve2); !strings.Contains(got.stdout, "A: "+batch+", job 2: solve on 2 ranks") {
		t.Errorf("output does not say which job was compared:\n%s", got.stdout)
	}
	for _, other := range []string{mergedPrograms(t, testJob{"solve", 8, 1}), mergedPrograms(t, testJob{"plot", 1, 1}, testJob{"plot", 1, 2})} {
		if got := call("diff", batch, other); got.code != exitUsage || !strings.Contains(got.stderr, "has 4 jobs (1: prepare on 1 rank, 2: solve on 2 ranks, 3: solve on 4 ranks, 4: plot on 1 rank)") ||
			!strings.Contains(got.stderr, "choose with --job N:M") {
			t.Errorf("status %d: %s", got.code, got.stderr)
		}
	}
}

// A limit on time is an error if a run was not timed.
func TestDiffFailIfWorseUntimed(t *testing.T) {
	timed := mergedJobs(t, 100)
	untimed := rundir.Dir(t.TempDir())
	writeMerged(t, untimed, profile.List{{Run: "0", Size: 1, Program: "/bin/app", State: profile.Finalized, Timing: profile.TimingOff, Start: 1}})
	for _, limits := range []string{"900%", "time=900%"} {
		got := call("diff", "--fail-if-worse", limits, timed, string(untimed))
		if got.code != exitError || got.stdout != "" || !strings.Contains(got.stderr, "times cannot be compared, as calls were not timed (--timing exact in A, off in B)") {
			t.Errorf("%s: %+v", limits, got)
		}
	}
	for _, args := range [][]string{{"--fail-if-worse", "bytes=900%"}, {"--fail-if-worse", "900%", "--ignore-time"}, nil} {
		got := call(append([]string{"diff", timed, string(untimed)}, args...)...)
		if got.code != 0 || !strings.Contains(got.stdout, "--timing exact in A, off in B: times of calls are not compared") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// An incomplete run may be within the limits by mistake, so there is a warning.
func TestDiffFailIfWorseIncomplete(t *testing.T) {
	whole, dir := mergedJobs(t, 100), rundir.Dir(t.TempDir())
	writeMerged(t, dir, profile.List{{Run: "0", Size: 2, Program: "/bin/app", State: profile.Finalized, Start: 1}})
	got := call("diff", "--fail-if-worse", "0%", whole, string(dir))
	if want := string(dir) + " is incomplete, and compared as it is: no recording of rank 1"; got.code != 0 || !strings.Contains(got.stderr, want) ||
		!strings.Contains(got.stdout, "\ndifferent sizes: 1 rank in A, 2 in B") {
		t.Errorf("got %+v, want %q", got, want)
	}
	lacks := "mpitrace: " + whole + "/profile.arrow is read, since there are no recordings: it does not have settings, control variables, late receives, messages of the library, and the paths of modules\n"
	if got := call("diff", "--fail-if-worse", "0%", whole, whole); got.code != 0 || got.stderr != lacks {
		t.Errorf("both runs complete: %+v", got)
	}
}

// A damaged run is compared with a warning. With --fail-if-worse it is an
// error.
func TestDiffDamaged(t *testing.T) {
	whole := mergedJobs(t, 100)
	cut, unreadable := damagedRun(t, "run")
	for _, args := range [][]string{{whole, "run"}, {"run", whole}, {"run", "run"}} {
		got := call(append([]string{"diff", "--fail-if-worse", "900%"}, args...)...)
		if got.code != exitError || got.stdout != "" || !strings.HasSuffix(got.stderr, "--fail-if-worse does not accept damaged runs\n") ||
			strings.Count(got.stderr, cut) != 1 || strings.Count(got.stderr, unreadable) != 1 {
			t.Errorf("--fail-if-worse of %q: %+v", args, got)
		}
		got = call(append([]string{"diff"}, args...)...)
		if got.code != 0 || got.stdout == "" || strings.Count(got.stderr, "mpitrace: "+cut) != 1 || strings.Count(got.stderr, "mpitrace: "+unreadable) != 1 {
			t.Errorf("%q: %+v", args, got)
		}
	}
	if got := call("diff", "--fail-if-worse", "900%", whole, "run/recordings/1.rec"); got.code != exitError || !strings.Contains(got.stderr, cut) {
		t.Errorf("a recording: %+v", got)
	}
	if got := call("report", "run"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := call("diff", "--fail-if-worse", "900%", whole, "run/profile.arrow"); got.code != exitError || !strings.Contains(got.stderr, cut) {
		t.Errorf("the merged file: %+v", got)
	}
}

func TestDiffWrongUse(t *testing.T) {
	one, two := mergedJobs(t, 1), mergedJobs(t, 1, 2)
	traffic := filepath.Join(t.TempDir(), "app.0.prof")
	testenv.WriteFile(t, traffic, "# POINT TO POINT\nE\t0\t1\t8 bytes\t1 msgs sent\t1\n")
	for _, test := range []struct{ name, args, want string }{
		{"one run", one, "name two runs, or none"},
		{"no such run", one + " /no/such", "no such file"},
		{"nothing recorded", one + " " + t.TempDir(), "holds no recording"},
		{"no profile", one + " diff.go", "unknown format: give recordings"},
		{"traffic alone", one + " " + traffic, "it holds traffic between ranks only"},
		{"other numbers of jobs", one + " " + two, "has 1 job (1: app on 1 rank), " + two + " has 2 jobs (1: app"},
		{"no such job", "--job 3 " + one + " " + two, "has 2 jobs (1: app"},
		{"a job below 1", "--job -1 " + one + " " + one, "jobs count from 1"},
		{"sorted by calls", "--sort calls " + one + " " + one, "time, bytes or messages"},
		{"sorted by what is ignored", "--sort time --ignore-time " + one + " " + one, "cannot be combined"},
		{"top", "--top few " + one + " " + one, "or all"},
		{"limit", "--fail-if-worse much " + one + " " + one, "is not a percentage"},
		{"an empty limit", "--fail-if-worse= " + one + " " + one, "is not a percentage"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := call(strings.Fields("diff " + test.args)...)
			if got.code != exitUsage || !strings.Contains(got.stderr, test.want) || got.stdout != "" {
				t.Errorf("status %d, want 2; stderr %q, want %q in it; stdout %q", got.code, got.stderr, test.want, got.stdout)
			}
		})
	}
}

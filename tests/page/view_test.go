package page

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// mpis are the MPIs of Debian: their compilers, and their launchers with the number of ranks.
var mpis = []struct {
	name, cc string
	launcher []string
}{
	{"openmpi", "mpicc.openmpi", []string{"mpirun.openmpi", "--oversubscribe", "-n"}},
	{"mpich", "mpicc.mpich", []string{"mpiexec.mpich", "-n"}},
}

// start starts a command that is built, and returns its process and the first line that
// it writes to stdout. At the end of the test it receives a SIGTERM.
func start(t *testing.T, args ...string) (cmd *exec.Cmd, first func() string) {
	t.Helper()
	cmd = exec.Command(filepath.Join(scratch, "mpitrace"), args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	return cmd, func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(args, err)
		}
		return strings.TrimSpace(line)
	}
}

// serve serves the page of a run and opens it.
func serve(t *testing.T, run string) *tab {
	t.Helper()
	_, first := start(t, "view", run)
	url := first()
	site, _, found := strings.Cut(url, "?token=")
	if !found {
		t.Fatalf("address %q", url)
	}
	return openPage(t, &tab{T: t, url: url, site: site})
}

// await waits until a JavaScript expression is true, and returns how long that took.
func (p *tab) await(expression string) time.Duration {
	p.Helper()
	start := time.Now()
	for ; !eval[bool](p, expression); time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > answersWithin {
			p.Fatalf("%s is not so within %v: %s", expression, answersWithin, p.text("#page"))
		}
	}
	return time.Since(start)
}

// jobStatus is what the tests read of `mpitrace status --json`.
type jobStatus struct {
	Processes []struct {
		Rank  int
		Calls []struct {
			Call      string
			WorldPeer int     `json:"world_peer"`
			ForS      float64 `json:"for_s"`
			Absent    string
			Callsite  struct{ Label string }
		}
	}
	Deadlocks [][]int
}

func statusOf(t *testing.T, run string) jobStatus {
	t.Helper()
	var s struct{ Jobs []jobStatus }
	if err := json.Unmarshal([]byte(command(t, "mpitrace", "status", "--json", run)), &s); err != nil || len(s.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(s.Jobs), err)
	}
	return s.Jobs[0]
}

// hang starts deadlock.c, in which ranks 0 and 1 receive from each other and the others are
// in a barrier, and waits until its ranks are recorded.
func hang(t *testing.T, name, cc string, launcher []string) (run string) {
	t.Helper()
	testenv.Need(t, "gcc", cc, launcher[0])
	program := filepath.Join(scratch, "deadlock-"+name)
	command(t, cc, "-O1", "-g", "-w", "-o", program, filepath.Join(root, "tests", "programs", "deadlock.c"))
	run = filepath.Join(t.TempDir(), "run")
	start(t, slices.Concat([]string{"run", "-o", run, "--"}, launcher, []string{"4", program, "recv"})...)
	for end := time.Now().Add(answersWithin); ; time.Sleep(50 * time.Millisecond) {
		if recorded(run) == 4 {
			return run
		}
		if time.Now().After(end) {
			t.Fatal("the job does not start")
		}
	}
}

// recorded returns the number of recordings of a run, those in the spool
// included.
func recorded(dir string) int {
	files, _ := rundir.Dir(dir).RecordingFiles()
	return len(files)
}

// TestViewHanging opens the page of a job that hangs: within 2 s it shows who waits for whom,
// and what it shows is what `status --json` says at the same time.
func TestViewHanging(t *testing.T) {
	for _, m := range mpis {
		t.Run(m.name, func(t *testing.T) {
			run := hang(t, m.name, m.cc, m.launcher)
			p := serve(t, run)
			took := p.await(`document.querySelector("#live-notices")?.textContent.includes("deadlock: ranks 0 and 1 wait for each other")`)
			t.Logf("the deadlock is shown after %v", took)
			p.checkLive(run)
			p.await(`document.querySelector("#live-notices").textContent.includes("hanging, in one call for more than 5 s: ranks 0-3")`)
			p.picture("live-" + m.name)
		})
	}
}

// TestViewHangsLater opens the page of a job that hangs after some seconds: within 2 s the page
// shows who waits for whom, and then the deadlock.
func TestViewHangsLater(t *testing.T) {
	for _, m := range mpis {
		t.Run(m.name, func(t *testing.T) {
			testenv.Need(t, "gcc", m.cc, m.launcher[0])
			program := filepath.Join(scratch, "hangs-"+m.name)
			command(t, m.cc, "-O1", "-g", "-o", program, filepath.Join(root, "tests", "programs", "hangs.c"))
			run := filepath.Join(t.TempDir(), "run")
			_, first := start(t, slices.Concat([]string{"run", "-o", run, "--"}, m.launcher, []string{"4", program, "6"})...)
			for !exists(filepath.Join(run, "run.json")) {
				time.Sleep(20 * time.Millisecond)
			}
			p := serve(t, run)
			p.await(`document.querySelector("#live-facts")?.textContent.includes("per second") === true`)
			if line := first(); line != "hangs" {
				t.Fatalf("the job says %q", line)
			}
			took := p.await(fmt.Sprintf(`JSON.stringify([...%s("ranks").querySelectorAll("tbody tr")].map((r) => r.cells[4].textContent).sort()) ===
				JSON.stringify(["rank 0", "rank 1", "ranks 0-1", "ranks 0-1"])`, tables))
			ring := p.await(`document.querySelector("#live-notices").textContent.includes("deadlock: ranks 0 and 1 wait for each other")`)
			// On an idle machine it takes 2 s: the page shows each reading at once, and
			// TestWatchHangsLater of tests/e2e counts the readings.
			if t.Logf("who waits for whom is shown after %v, the deadlock %v later", took, ring); took+ring > 10*time.Second {
				t.Errorf("the deadlock is shown after %v", took+ring)
			}
		})
	}
}

// checkLive compares the table of ranks with the status. Durations may differ by the time
// between the two readings.
func (p *tab) checkLive(run string) {
	p.Helper()
	shown := p.table("ranks")
	s := statusOf(p.T, run)
	if len(s.Processes) != 4 || len(shown.Rows) != 4 {
		p.Fatalf("%d processes, %d rows", len(s.Processes), len(shown.Rows))
	}
	ranks, calls, sites, waits, times := shown.column(p, "rank"), shown.column(p, "call"), shown.column(p, "at"), shown.column(p, "waits for"), shown.texts(p, "for")
	for _, e := range s.Processes {
		i := slices.Index(ranks, strconv.Itoa(e.Rank))
		if i < 0 || len(e.Calls) != 1 {
			p.Fatalf("rank %d: ranks %q, %d calls", e.Rank, ranks, len(e.Calls))
		}
		c := e.Calls[0]
		call, whom := "MPI_Barrier in MPI_COMM_WORLD", "ranks 0-1"
		if e.Rank < 2 {
			call, whom = fmt.Sprintf("MPI_Recv from %d in MPI_COMM_WORLD", 1-e.Rank), fmt.Sprintf("rank %d", 1-e.Rank)
		}
		if !strings.HasPrefix(call, "MPI_"+c.Call+" ") || calls[i] != call || sites[i] != c.Callsite.Label || waits[i] != whom {
			p.Errorf("rank %d: %q at %q waits for %q; status: %+v", e.Rank, calls[i], sites[i], waits[i], c)
		}
		if e.Rank > 1 && c.Absent != whom {
			p.Errorf("rank %d: status says that %q are absent", e.Rank, c.Absent)
		}
		if d := secondsOf(times[i]) - c.ForS; !(math.Abs(d) <= 2.5) {
			p.Errorf("rank %d: for %s, status: %.3f s", e.Rank, times[i], c.ForS)
		}
	}
}

// secondsOf reads the first duration of a text.
func secondsOf(text string) float64 {
	found := regexp.MustCompile(`^([\d.]+) (s|ms|µs|ns)`).FindStringSubmatch(text)
	if found == nil {
		return math.NaN()
	}
	v, _ := strconv.ParseFloat(found[1], 64)
	return v * map[string]float64{"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[found[2]]
}

// TestViewEnds opens the page of a job that ends: it becomes the report in the same document,
// with the numbers of the report.
func TestViewEnds(t *testing.T) {
	program := compile(t, halo)
	run := filepath.Join(t.TempDir(), "run")
	cmd, _ := start(t, "run", "-o", run, "--", "mpirun.openmpi", "--oversubscribe", "-n", "4", program, "-s", "60000", "-n", "200", "-m", "200")
	for !exists(filepath.Join(run, "run.json")) {
		time.Sleep(20 * time.Millisecond)
	}
	p := serve(t, run)
	p.script(`window.sameDocument = true`)
	p.await(`Boolean(document.querySelector("#live-facts")) && document.querySelector("#live-facts").textContent.includes("per second")`)
	p.await(`Boolean(document.querySelector("canvas.matrix"))`)
	p.picture("live-halo")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	p.await(`!document.querySelector("#live-facts") && Boolean(document.querySelector("#calls"))`)
	if !eval[bool](p, `window.sameDocument === true`) {
		t.Error("the page was loaded again")
	}
	p.checkReport(run)
	p.checkMatrices(run, 4, 1)
}

// TestViewOtherNode opens the page of ranks on another node, whose names are markup. It shows
// what is visible from here and how old that is, and the names as text.
func TestViewOtherNode(t *testing.T) {
	testenv.Need(t, "chromium")
	const name = "<img src=x onerror=alert(1)>"
	dir, err := rundir.CreateAt(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixNano()
	for rank := range 2 {
		q := &profile.Profile{Run: "stuck", Rank: rank, Size: 2, Host: "elsewhere", Pid: 100 + rank, Program: "/opt/<b>ring", State: profile.Running,
			Start: now - 15e9, InitEnd: now - 14e9, End: now - 11e9, Threads: 1, Library: "MPI",
			Comms: []profile.Comm{{ID: strings.Repeat("0", 31) + "1", Name: name, Parent: -1, Rank: rank, Members: profile.Group{Stride: 1, N: 2}}},
			Open:  []profile.OpenCall{{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Peer: int32(1 - rank), Source: profile.PeerNone, Start: now - 10e9}}}
		if err := recordingtest.WriteFile(filepath.Join(dir.Recordings(), fmt.Sprintf("elsewhere-%d-%d.rec", q.Pid, rank)), q); err != nil {
			t.Fatal(err)
		}
	}
	p := serve(t, string(dir))
	p.mentions("#page", "<b>ring", "2 not finalized and not visible from here")
	shown := p.table("ranks")
	known, calls := shown.texts(p, "known"), shown.column(p, "call")
	for i := range 2 {
		if age := secondsOf(known[i]); age < 10 || age > 10+10 || !strings.HasSuffix(known[i], " ago") {
			t.Errorf("rank %d is known since %q", i, known[i])
		}
		if want := fmt.Sprintf("MPI_Recv from %d in %s", 1-i, name); calls[i] != want {
			t.Errorf("%q, want %q", calls[i], want)
		}
	}
	if n := eval[int](p, `document.querySelectorAll("#page img, #page b, #page script").length`); n > 0 {
		t.Errorf("%d elements of the job's names", n)
	}
	p.picture("live-elsewhere")
}

// TestViewEnded opens a large job that has ended. What its page lacks comes from the server.
func TestViewEnded(t *testing.T) {
	const ranks = 4200 // more pairs than a page has details of
	run := synthetic(t, "stencil", ranks, 64)
	p := serve(t, run)
	p.await(`Boolean(document.querySelector("#calls"))`)
	p.checkCalls(&readReport(t, run).Jobs[0])
	p.showMatrix()
	want, at := p.describe([]cell{{0, 0}})[0], p.locate(cell{0, 0})
	p.do(chromedp.MouseClickXY(at.X, at.Y))
	const details = `section[aria-label="Selected pair"]`
	p.await(fmt.Sprintf(`Boolean(document.querySelector(%q))`, details))
	sums := eval[[][]string](p, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((t) => [...t.querySelectorAll("tbody tr")].flatMap((r) =>
		[r.cells[1].textContent, r.cells[2].querySelector("[title]").title]))`, details+" table"))
	for i, numbers := range sums {
		var sum amount
		for k := 0; k < len(numbers); k += 2 {
			sum = sum.add(amount{Messages: number(numbers[k]), Bytes: number(numbers[k+1])})
		}
		if sum != want || want.Messages == 0 {
			t.Errorf("table %d of the cell adds up to %+v, want %+v", i, sum, want)
		}
	}
	if len(sums) != 4 {
		t.Errorf("the cell has %d tables, want 4", len(sums))
	}
}

// TestViewEvents opens a traced run with more events than a page has. The calls of a window
// come from the server: each line has as many as the trace says.
func TestViewEvents(t *testing.T) {
	run := record(t, []string{"--trace"}, 4, compile(t, halo), "-n", "40", "-m", "40", "-s", "6000")
	p := serve(t, run)
	p.await(`Boolean(document.querySelector(".timeline-view"))`)
	const chart = `document.querySelector(".timeline-view").chart`
	if eval[bool](p, `Boolean(`+chart+`.data.events)`) {
		t.Fatal("all events are in the page: the run is too small")
	}
	p.script(chart + `.canvas.scrollIntoView({ block: "center" }); ` + chart + `.show(` + chart + `.data.length_ns / 2, ` + chart + `.data.length_ns * 0.6)`)
	p.script(`[...document.querySelectorAll(".timeline-view button")].find((b) => b.textContent.startsWith("Load the calls")).click()`)
	p.await(`Boolean(` + chart + `.data.events)`)
	p.picture("view-events")
	got := eval[struct {
		From, To float64
		Calls    []int
	}](p, `(({ from_ns, to_ns, events }) => ({ from: from_ns, to: to_ns, calls: events.map((e) => e.start.length) }))(`+chart+`.data)`)
	if want := p.callsBetween(run, int64(got.From), int64(got.To)); !slices.Equal(got.Calls, want) || len(want) != 4 || want[0] == 0 {
		t.Errorf("the lines have %v calls, the traces %v", got.Calls, want)
	}
	p.script(chart + `.show()`)
	if eval[bool](p, `Boolean(`+chart+`.data.events)`) {
		t.Error("the whole run is drawn with the calls of a window")
	}
}

// callsBetween returns how many calls of each rank are in a window of time, in ns since the
// first event, from the tables of the traces.
func (p *tab) callsBetween(run string, from, to int64) (calls []int) {
	p.Helper()
	traces, err := export.Traces(rundir.Dir(run))
	if err != nil {
		p.Fatal(err)
	}
	zero := int64(math.MaxInt64)
	each := func(visit func(rank int, start, end int64)) {
		for _, src := range traces {
			err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
				for i, start := range e.Start {
					if kinds[e.Kind[i]].Action == profile.Called {
						visit(src.Trace().Rank, start, start+e.Duration[i])
					}
				}
				return nil
			})
			if err != nil {
				p.Fatal(err)
			}
		}
	}
	each(func(_ int, start, _ int64) { zero = min(zero, start) })
	calls = make([]int, len(traces))
	each(func(rank int, start, end int64) {
		if start-zero <= to && end-zero >= from {
			calls[rank]++
		}
	})
	return calls
}

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/internal/views"
)

// TestLifetimes compares the recorded lifetimes of threads with the limits that the
// program measures. Two threads take over the records of two that ended.
func TestLifetimes(t *testing.T) {
	withEachAlone(t, debian, func(t *testing.T, m implementation) {
		for _, mode := range []string{"busy", "idle", "killed"} {
			j := record(t, nil, m.launch(1, m.compile(t, "lifetimes"), mode)...)
			var least, most int64
			if _, err := fmt.Sscanf(j.stdout, "ok\n%d %d", &least, &most); err != nil || len(j.ranks) != 1 || (j.code == 0) != (mode != "killed") {
				t.Fatalf("%s: status %d, %v\n%s%s", mode, j.code, err, j.stdout, j.stderr)
			}
			p, own := j.ranks[0], int64(0)
			if mode == "busy" {
				own, _ = p.Times().Application()
			}
			margin := most/1000 + 100_000 // of the clocks
			if got := p.Lifetimes - own; got < least-margin || got > most+margin {
				t.Errorf("%s: lifetimes of %d ns beside %d of the main thread, want %d to %d", mode, got, own, least, most)
			}
			if p.Threads != 3 {
				t.Errorf("%s: %d tables, want 3", mode, p.Threads)
			}
		}
	})
}

// TestThreadShares checks for programs whose threads wait that the time in MPI is what the program
// measures, that no share exceeds 100 % and no saving the run time, and that all views have the same
// efficiency.
func TestThreadShares(t *testing.T) {
	withEachAlone(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "thread_shares")
		for _, test := range []struct {
			mode  string
			flags []string
		}{{"messages", []string{"--trace"}}, {"collectives", []string{"--trace"}}, {"helper", []string{"--trace"}}, {"messages", nil}} {
			attempts(t, test.mode, func() string {
				j := record(t, append(test.flags, "--no-report"), m.launch(2, program, test.mode)...)
				checkWhole(t, 2, j)
				checkShares(t, test.mode, j.dir, test.flags != nil)
				return checkThreadTimes(judgedJobs(t, j.dir)[0].Tree, j.stdout)
			})
		}
	})
}

// checkThreadTimes compares the time in MPI with what the ranks printed. The main thread lives as long
// as the rank runs.
func checkThreadTimes(tree *aggregate.TimeTree, stdout string) (problem string) {
	want, ranks := 0.0, 0
	for line := range strings.Lines(stdout) {
		var run, inside, lived float64
		if n, _ := fmt.Sscan(line, &run, &inside, &lived); n == 3 {
			want, ranks = want+run*inside/(run+lived), ranks+1
		}
	}
	if got := float64(tree.TotalNs()) * tree.InMPIBefore(); ranks != tree.Ranks || math.Abs(got-want) > 0.05*want {
		return fmt.Sprintf("%.0f ns in MPI, want %.0f of %d ranks: %+v", got, want, ranks, tree)
	}
	return ""
}

// report is what `mpitrace report --json` has of a job.
type reportedJob struct {
	*aggregate.Summary
	Findings []findings.Finding
	Analysis *trace.Result
}

func checkShares(t *testing.T, mode, dir string, traced bool) {
	t.Helper()
	var report struct{ Jobs []reportedJob }
	out := succeed(t, nil, mpitrace, "report", "--json", dir)
	if err := json.Unmarshal([]byte(out.stdout), &report); err != nil || len(report.Jobs) != 1 || report.Jobs[0].POP == nil {
		t.Fatalf("%v\n%s", err, out.stdout)
	}
	s := report.Jobs[0]
	for _, r := range s.Ranks {
		if r.MPIShare > 1 || r.MPITimeS > r.ThreadTimeS {
			t.Errorf("%s: rank %d is in MPI for %g of %g s", mode, r.Rank, r.MPITimeS, r.ThreadTimeS)
		}
	}
	for _, f := range s.Findings {
		if f.Share > 1 || f.SavesS > s.POP.RuntimeNs/1e9 {
			t.Errorf("%s: %s: share %g, saves %g of %g s", mode, f.Rule, f.Share, f.SavesS, s.POP.RuntimeNs/1e9)
		}
	}
	if traced {
		checkTracedShares(t, mode, dir, &s)
	}
	words := succeed(t, nil, mpitrace, "report", "--full", dir).stdout
	for _, found := range regexp.MustCompile(`(?m)^parallel efficiency:? +(\d.*?%)`).FindAllStringSubmatch(words, -1) {
		if want := text.Percent(s.POP.ParallelEfficiency); found[1] != want {
			t.Errorf("%s: report has %q, want %s", mode, found[0], want)
		}
	}
	if h := historyOf(t, dir); len(h.Runs) != 1 || *h.Runs[0].POP != *s.POP {
		t.Errorf("%s: history has %+v, report %+v", mode, h.Runs[0].POP, s.POP)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	succeed(t, nil, mpitrace, "report", dir, "--html", file)
	var page struct {
		Jobs []struct{ Sections []views.Section }
	}
	if err := json.Unmarshal(pageData(t, file), &page); err != nil || len(page.Jobs) != 1 {
		t.Fatalf("%s: %v: %d jobs", mode, err, len(page.Jobs))
	}
	at := slices.IndexFunc(page.Jobs[0].Sections, func(part views.Section) bool { return part.ID == "efficiency" })
	shown, want := page.Jobs[0].Sections[at].Blocks[0].Fact.Value, views.Efficiency(s.POP)+" = "
	if !strings.HasPrefix(shown, want) {
		t.Errorf("%s: the page has %q, report %q", mode, shown, want)
	}
}

func checkTracedShares(t *testing.T, mode, dir string, s *reportedJob) {
	t.Helper()
	a := s.Analysis
	if a == nil || a.POP == nil || a.POP.ParallelEfficiency != s.POP.ParallelEfficiency || *analyze(t, dir).POP != *a.POP {
		t.Fatalf("%s: the trace has %+v, the report %+v", mode, a, s.POP)
	}
	sums := map[string]float64{}
	for _, p := range a.Patterns {
		sums["waits"] += p.Share
	}
	for _, c := range a.Calls {
		sums["calls"] += c.Share
	}
	for _, w := range a.WaitStates {
		sums["wait states"] += w.Share
	}
	for what, sum := range sums {
		if sum > 1 {
			t.Errorf("%s: %s have %g of the time of all ranks", mode, what, sum)
		}
	}
	for what, share := range map[string]float64{"serialisation": a.POP.Serialisation, "transfer": a.POP.Transfer, "load balance": a.POP.LoadBalance} {
		if share <= 0 || share > 1 {
			t.Errorf("%s: %s %g", mode, what, share)
		}
	}
}

// pageData returns the JSON in a page.
func pageData(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), `id="data"`)
	_, rest, _ = strings.Cut(rest, ">")
	data, _, _ := strings.Cut(rest, "<")
	zipped, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

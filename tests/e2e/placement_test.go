package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// allowed returns the processors that this test may use.
func allowed(t *testing.T) []int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ = strings.Cut(list, "\n")
	processors, err := profile.ParseProcessors(strings.TrimSpace(list))
	if err != nil || len(processors) == 0 {
		t.Fatalf("Cpus_allowed_list: %q: %v", list, err)
	}
	return processors
}

// unbound returns a command line whose launcher does not bind ranks to
// processors.
func (m implementation) unbound(n int, program ...string) []string {
	command := m.launch(n, program...)
	if openMPI(m) {
		command = slices.Insert(command, 1, "--bind-to", "none")
	}
	return command
}

// TestUsage compares the CPU time of each slice with what the program itself
// measures by getrusage: 2 × 60 ms and 2 × 30 ms.
func TestUsage(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		const ranks, slack = 2, 20e6
		j := record(t, nil, m.unbound(ranks, m.compile(t, "cpu_usage"))...)
		checkWhole(t, ranks, j)
		lines := strings.Split(strings.TrimSpace(j.stdout), "\n")[1:]
		if len(lines) != 2*ranks {
			t.Fatalf("it printed\n%s", j.stdout)
		}
		for _, line := range lines {
			var rank int
			var slice string
			var want float64
			if _, err := fmt.Sscan(line, &rank, &slice, &want); err != nil {
				t.Fatal(err)
			}
			u := usageIn(t, j.ranks[rank], slice)
			if got := float64(u.UserNs + u.SystemNs); got < want || got > want+slack {
				t.Errorf("rank %d, slice %s: %v ns of CPU time, the program measured %v", rank, slice, got, want)
			}
			if least := map[string]float64{"2": 120e6, "3": 60e6}[slice]; want < least || float64(u.WallNs) < want {
				t.Errorf("rank %d, slice %s: %v ns of CPU time in %d ns, the program used at least %v", rank, slice, want, u.WallNs, least)
			}
		}
	})
}

// usageIn returns the usage in a slice, and requires that there is exactly one.
func usageIn(t *testing.T, p *profile.Profile, name string) profile.Usage {
	t.Helper()
	var found []profile.Usage
	for _, u := range p.Usage {
		for _, s := range p.Slices {
			if s.Index == u.Slice && s.Name == name {
				found = append(found, u)
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("rank %d, slice %s: %d records of usage, want 1", p.Rank, name, len(found))
	}
	return found[0]
}

// TestUsageKilled checks that the usage of a killed rank is known for all
// slices except the one in which it was killed.
func TestUsageKilled(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		j := record(t, nil, m.unbound(2, m.compile(t, "cpu_usage"), "killed")...)
		if len(j.ranks) != 2 || j.ranks[0].State != profile.Running {
			t.Fatalf("%d recordings\n%s", len(j.ranks), j.stderr)
		}
		for slice, least := range map[string]uint64{"2": 120e6, "3": 60e6} {
			if u := usageIn(t, j.ranks[0], slice); u.UserNs+u.SystemNs < least {
				t.Errorf("slice %s: %d ns of CPU time, want at least %d", slice, u.UserNs+u.SystemNs, least)
			}
		}
		if len(j.ranks[0].Usage) != 3 { // slices run, 2 and 3
			t.Errorf("usage of %d slices, want 3: %+v", len(j.ranks[0].Usage), j.ranks[0].Usage)
		}
	})
}

// TestOversubscribed runs four computing ranks on one core. Each gets a quarter
// of it, and the report, the analysis and ranks.arrow must show that.
func TestOversubscribed(t *testing.T) {
	testenv.Need(t, "taskset")
	withEach(t, debian, func(t *testing.T, m implementation) {
		processors := allowed(t)
		one := fmt.Sprint(processors[len(processors)-1])
		dir := filepath.Join(t.TempDir(), "run")
		command := slices.Concat([]string{"taskset", "-c", one, mpitrace, "run", "--trace", "-o", dir, "--"},
			m.unbound(4, m.compile(t, "cpu_usage")))
		succeed(t, nil, command...)
		for _, p := range readRecordings(t, dir) {
			if p.Placement == nil || p.Placement.Processors != one {
				t.Errorf("rank %d: placement %+v, want processor %s", p.Rank, p.Placement, one)
			}
		}
		report, raw := reportOf(t, dir)
		if len(report.Oversubscribed) != 1 || report.Oversubscribed[0].CPU == nil {
			t.Fatalf("the report has %s", raw)
		}
		got := report.Oversubscribed[0]
		if got.Reason != profile.TooFewProcessors || got.Ranks.String() != "ranks 0-3" || got.Threads != 4 || got.Processors != one {
			t.Errorf("oversubscribed: %+v", got)
		}
		// Four ranks share one core, and none sleeps for long.
		if got.CPU.Used <= 0 || got.CPU.Used > 0.27 {
			t.Errorf("the ranks used %.3f of a core on average, but four ranks share one", got.CPU.Used)
		}
		if w := got.CPU.WithoutProcessor; w != nil && (*w < 0.3 || *w+got.CPU.Used > 1.05) {
			t.Errorf("the ranks waited for a core %.3f of the time and used one %.3f of it", *w, got.CPU.Used)
		}
		full, analysis := succeed(t, nil, mpitrace, "report", "--full", dir).stdout, succeed(t, nil, mpitrace, "analyze", dir).stdout
		for what, text := range map[string]string{"the report": full, "the analysis": analysis} {
			if !strings.Contains(text, "oversubscribed: 4 ranks ") || !strings.Contains(text, "; waiting includes waiting for a core\n") {
				t.Errorf("%s does not say that the ranks shared a core:\n%s", what, text)
			}
		}
	})
}

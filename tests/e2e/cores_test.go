package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestThreadDelays compares how long the threads that make calls had no core with what the program
// reads itself. Three of its threads share one core, and the main thread makes no call.
func TestThreadDelays(t *testing.T) {
	testenv.Need(t, "taskset")
	withEach(t, debian, func(t *testing.T, m implementation) {
		processors := allowed(t)
		one := fmt.Sprint(processors[len(processors)-1])
		program := slices.Concat([]string{"taskset", "-c", one}, []string{m.compile(t, "thread_delays")})
		j := record(t, nil, m.unbound(1, program...)...)
		checkWhole(t, 1, j)
		var least, most uint64
		var busy int
		if _, err := fmt.Sscanf(j.stdout, "ok\n%d %d %d", &least, &most, &busy); err != nil || least < 50e6 {
			t.Fatalf("%v\n%s%s", err, j.stdout, j.stderr)
		}
		u := j.ranks[0].ThreadUse
		// Between the program's last reading and the library's, a thread may wait again.
		if u == nil || u.Incomplete || u.DelayNs < least || u.DelayNs > most+50e6 || u.Busy != busy {
			t.Errorf("%+v, want a delay of %d to %d ns and %d busy threads", u, least, most, busy)
		}
		report, raw := reportOf(t, j.dir)
		var found struct{ Jobs []reportedJob }
		testenv.NoError(t, json.Unmarshal([]byte(raw), &found))
		own, _ := j.ranks[0].Times().Application()
		want := float64(u.DelayNs) / float64(max(j.ranks[0].Lifetimes, own))
		if c := report.Cores; c == nil || c.NoCore == nil || *c.NoCore < want-1e-9 || *c.NoCore > want+1e-9 || c.NoCoreAtLeast {
			t.Errorf("want no core in %g of the time: %+v", want, c)
		}
		if !slices.ContainsFunc(found.Jobs[0].Findings, func(f findings.Finding) bool {
			return f.Rule == findings.Oversubscribed && strings.Contains(f.Text, fmt.Sprintf("Rank 0 on %s runs %d threads on 1 core.", report.Ranks[0].Host, busy))
		}) {
			t.Errorf("the findings lack the one about cores: %+v", found.Jobs[0].Findings)
		}

		j = record(t, nil, m.unbound(1, append(program, "killed")...)...)
		if len(j.ranks) != 1 || j.ranks[0].ThreadUse != nil {
			t.Fatalf("killed: %+v", j.ranks)
		}
		if report, raw := reportOf(t, j.dir); report.Cores == nil || report.Cores.NoCore != nil || !strings.Contains(raw, `"no_core": null`) {
			t.Errorf("killed: it is not known how long the rank had no core: %+v", report.Cores)
		}
	})
}

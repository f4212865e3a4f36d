package views_test

import (
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
	"github.com/mpitrace/mpitrace/profile"
)

// on returns processes with these masks, in the order of their ranks, on a node
// with four cores of one hardware thread each.
func on(masks ...string) []profile.PlacedProcess {
	var out []profile.PlacedProcess
	for rank, mask := range masks {
		out = append(out, profile.PlacedProcess{Rank: rank, Threads: 1, Host: "n0",
			Placement: &profile.Placement{Processors: mask, NodeProcessors: 4, NodeCores: 4, NodeSockets: 1}})
	}
	return out
}

// with returns the processes, each changed by change.
func with(ps []profile.PlacedProcess, change func(p *profile.PlacedProcess)) []profile.PlacedProcess {
	for i := range ps {
		change(&ps[i])
	}
	return ps
}

func TestOversubscriptions(t *testing.T) {
	limited := func(limit float64) func(*profile.PlacedProcess) {
		return func(p *profile.PlacedProcess) { p.Placement.CPULimit, p.Placement.LimitGroup = limit, 7 }
	}
	// 1 s, of which 200 ms on a processor and 700 ms waiting for one.
	crowded := func(p *profile.PlacedProcess) {
		p.Usage = profile.Usage{WallNs: 1e9, UserNs: 150e6, SystemNs: 50e6, Involuntary: 300}
		p.NoCore = &profile.NoCore{Share: 0.7}
	}
	for _, test := range []struct {
		name string
		ps   []profile.PlacedProcess
		want string // lines of text
	}{
		{"as many ranks as cores", on("0-3", "0-3", "0-3", "0-3"), ""},
		{"more ranks than cores", on("0-3", "0-3", "0-3", "0-3", "0-3"), "oversubscribed: 5 ranks on 4 cores"},
		{"threads", with(on("0-3", "0-3"), func(p *profile.PlacedProcess) { p.Threads = 3 }), "oversubscribed: 2 ranks with 6 threads on 4 cores"},
		{"bound to a core each", on("0", "1", "2", "3"), ""},
		{"all bound to one core", on("2", "2", "2"), "oversubscribed: 3 ranks may run on 1 core of the 4 only (2)"},
		{"two of them bound to one core", on("0", "1", "1", "2-3"), "oversubscribed: ranks 1-2 may run on 1 core of the 4 only (1)"},
		{"two cores, two ranks each", on("0", "0", "3", "3"),
			"oversubscribed: ranks 0-1 may run on 1 core of the 4 only (0)\noversubscribed: ranks 2-3 may run on 1 core of the 4 only (3)"},
		// Rank 0 can use processor 2, and leave processor 0 to rank 1 and
		// processor 1 to rank 2.
		{"overlapping masks with room", on("0-2", "0", "1"), ""},
		{"overlapping masks without", on("0-1", "0", "1", "3"), "oversubscribed: ranks 0-2 may run on 2 cores of the 4 only (0-1)"},
		{"a cpuset of two", on("1,3", "1,3", "1,3"), "oversubscribed: 3 ranks may run on 2 cores of the 4 only (1,3)"},
		{"hardware threads", with(on("0-3", "0-3", "0-3", "0-3", "0-3"), func(p *profile.PlacedProcess) { p.Placement.NodeCores = 2 }),
			"oversubscribed: 5 ranks on 4 hardware threads"},
		{"a limit of the control group", with(on("0-3", "0-3", "0-3"), limited(1.5)),
			"oversubscribed: 3 ranks in a control group that may use the time of 1.5 cores"},
		{"a limit that is enough", with(on("0-3", "0-3", "0-3"), limited(2.5)), ""},
		{"control groups of their own", with(on("0-3", "0-3"), func(p *profile.PlacedProcess) { p.Placement.CPULimit, p.Placement.LimitGroup = 1, uint64(p.Rank) }), ""},
		{"measured", with(on("0-3", "0-3"), crowded), "ranks 0-1 shared their cores with other processes or threads\n" +
			"ranks had no core 70.0 % of their time; used a core 20.0 % of it; 300 involuntary context switches a second each"},
		{"without the kernel's delay", with(on("0", "1"), func(p *profile.PlacedProcess) { crowded(p); p.NoCore = nil }),
			"ranks 0-1 shared their cores with other processes or threads\nranks used a core 20.0 % of their time; 300 involuntary context switches a second each"},
		{"asleep", with(on("0", "1"), func(p *profile.PlacedProcess) {
			p.Usage = profile.Usage{WallNs: 1e9, UserNs: 1e6, Voluntary: 5000}
			p.NoCore = &profile.NoCore{}
		}), ""},
		{"too short to tell", with(on("0", "1"), func(p *profile.PlacedProcess) { crowded(p); p.Usage.WallNs = 99e6 }), ""},
		{"other hosts", with(on("0", "0"), func(p *profile.PlacedProcess) { p.Host = []string{"n0", "n1"}[p.Rank] }), ""},
		{"nothing known", []profile.PlacedProcess{{Rank: 0, Host: "n0"}, {Rank: 1, Host: "n0"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b strings.Builder
			if err := terminal.Write(&b, views.SharedSections(profile.Oversubscriptions(test.ps), len(test.ps)), terminal.Options{}); err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(b.String(), "; waiting includes waiting for a core", "")
			if got = strings.ReplaceAll(strings.TrimSpace(got), "\n  ", "\n"); got != test.want {
				t.Errorf("it says\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// The text names the host if the job has two.
func TestOversubscribedHost(t *testing.T) {
	ps := with(on("0-3", "0-3", "0-3", "0-3", "0-3", "0-3"), func(p *profile.PlacedProcess) {
		if p.Rank == 5 {
			p.Host = "n1"
		}
	})
	found := profile.Oversubscriptions(ps)
	if len(found) != 1 || found[0].Threads != 5 || found[0].Count != 4 || found[0].Ranks.Len() != 5 {
		t.Fatalf("found %+v", found)
	}
	var b strings.Builder
	if err := terminal.Write(&b, views.SharedSections(found, len(ps)), terminal.Options{}); err != nil {
		t.Fatal(err)
	}
	if want := "oversubscribed: 5 ranks on 4 cores of n0; waiting includes waiting for a core\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

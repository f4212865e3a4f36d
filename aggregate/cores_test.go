package aggregate

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// onCores returns two ranks on a node with 8 cores. Each rank has 4 cores and runs for 12 s, of
// which 10 s are outside MPI. One thread of a rank makes all calls: this thread has 9 s of CPU time,
// and no core for 1.2 s. The rank's other threads together have the CPU time others, in seconds.
func onCores(others uint64) []*profile.Profile {
	ps := jobs.Computing(10, 10)
	for i, p := range ps {
		p.Host, p.Start, p.InitEnd, p.FinalizeStart, p.End = "a", ps[0].Start, ps[0].InitEnd, ps[0].FinalizeStart, ps[0].End
		p.Placement = &profile.Placement{Processors: fmt.Sprintf("%d-%d", 4*i, 4*i+3), NodeProcessors: 8, NodeCores: 8}
		p.Usage = []profile.Usage{{WallNs: 12e9, UserNs: 9e9 + others*1e9, RunDelayNs: 3e9, DelayKnown: true}}
		p.ThreadUse = &profile.ThreadUse{Busy: 3, CPUNs: 9e9, DelayNs: 1.2e9}
	}
	return ps
}

func TestCores(t *testing.T) {
	for _, c := range []struct {
		name   string
		others uint64
		change func(ps []*profile.Profile)
		want   Cores
		known  [2]bool // whether it is known how many cores the ranks used
	}{
		// Outside MPI, each thread that calls has a core for 10 × 0.9 s.
		{"threads that make no call", 11, func([]*profile.Profile) {},
			Cores{NoCore: number(0.1), NoCoreS: number(2.4), Available: number(4.0), Used: number(20 / 10.0),
				HybridEfficiency: number(20 / 48.0), ThreadEfficiency: number(20 / 48.0 * 12 / 10)}, [2]bool{true, true}},
		{"the caller polls in MPI", 0, func(ps []*profile.Profile) {
			for _, p := range ps {
				p.Usage[0].UserNs, p.ThreadUse.CPUNs = 10.8e9, 10.8e9 // all of the time with a core
			}
		}, Cores{NoCore: number(0.1), NoCoreS: number(2.4), Available: number(4.0), Used: number(9 / 10.0),
			HybridEfficiency: number(9 / 48.0), ThreadEfficiency: number(9 / 48.0 * 12 / 10)}, [2]bool{true, true}},
		{"others compute while the caller is in MPI", 35, func([]*profile.Profile) {},
			Cores{NoCore: number(0.1), NoCoreS: number(2.4), Available: number(4.0), Used: number(4.0), HybridEfficiency: number(44 / 48.0)}, [2]bool{true, true}},
		{"some threads are not known", 11, func(ps []*profile.Profile) { ps[1].ThreadUse.Incomplete = true },
			Cores{NoCore: number(0.1), NoCoreS: number(2.4), NoCoreAtLeast: true, Available: number(4.0), Used: number(2.0)}, [2]bool{true, false}},
		{"an earlier recording of two threads", 11, func(ps []*profile.Profile) { ps[1].ThreadUse, ps[1].Threads, ps[1].Lifetimes = nil, 2, 12e9 },
			Cores{NoCore: number((1.2 + 3) / 24), NoCoreS: number(1.2 + 3), NoCoreAtLeast: true, Available: number(4.0), Used: number(2.0)}, [2]bool{true, false}},
		{"killed", 11, func(ps []*profile.Profile) {
			ps[1].State, ps[1].FinalizeStart, ps[1].ThreadUse = profile.Running, 0, nil
		}, // its last known moment is 12.5 s after MPI_Init, which is the run time of both ranks
			Cores{NoCore: number(1.2 / (2 * 12.5)), NoCoreS: number(1.2), NoCoreAtLeast: true, Available: number(4.0), Used: number(2.0)}, [2]bool{true, false}},
		{"nothing is known", 11, func(ps []*profile.Profile) {
			for _, p := range ps {
				p.ThreadUse, p.Usage, p.Placement = nil, nil, nil
			}
		}, Cores{}, [2]bool{}},
		{"--timing off", 11, func(ps []*profile.Profile) {
			for _, p := range ps {
				p.Timing = profile.TimingOff
			}
		}, Cores{NoCore: number(0.1), NoCoreS: number(2.4), Available: number(4.0)}, [2]bool{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ps := onCores(c.others)
			c.change(ps)
			s := New(ps).Summary()
			testenv.Equal(t, &c.want, s.Cores, cmp.Comparer(near))
			for i, r := range s.Ranks {
				if got := r.Cores != nil && r.Cores.Used != nil; got != c.known[i] {
					t.Errorf("rank %d: whether use is known: %t, want %t", i, got, c.known[i])
				}
			}
		})
	}
}

// TestCoresInJSON checks that what is not known is null.
func TestCoresInJSON(t *testing.T) {
	ps := onCores(0)
	for _, p := range ps {
		p.ThreadUse, p.Usage, p.Placement = nil, nil, nil
	}
	raw, err := json.Marshal(New(ps).Summary())
	testenv.NoError(t, err)
	var parsed struct{ Cores map[string]any }
	testenv.NoError(t, json.Unmarshal(raw, &parsed))
	for _, key := range []string{"no_core", "no_core_s", "available", "used", "hybrid_efficiency", "thread_efficiency"} {
		if v, has := parsed.Cores[key]; !has || v != nil {
			t.Errorf("%s is %v, want null", key, v)
		}
	}
}

// TestCoresOfRank checks that the summary of one rank has the same number of cores as the summary of
// the job, although it does not have the other ranks of the node.
func TestCoresOfRank(t *testing.T) {
	ps := onCores(11)
	for _, p := range ps {
		p.Placement.Processors = "0-7"
	}
	s, err := New(ps).RankSummary(1)
	testenv.NoError(t, err)
	if c := s.Ranks[0].Cores; c == nil || c.Available == nil || *c.Available != 4 {
		t.Errorf("%+v, want 4 cores", c)
	}
}

package aggregate

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

func TestPOP(t *testing.T) {
	// Useful times of 6 and 10 s in 12 s: 8 / 12 = 8 / 10 × 10 / 12.
	both := POP{ParallelEfficiency: 8. / 12, LoadBalance: 8. / 10, CommunicationEfficiency: 10. / 12,
		RuntimeNs: 12e9, UsefulMeanNs: 8e9, UsefulMaxNs: 10e9, UsefulMaxRank: 1, Ranks: 2}
	second := POP{ParallelEfficiency: 10. / 12, LoadBalance: 1, CommunicationEfficiency: 10. / 12,
		RuntimeNs: 12e9, UsefulMeanNs: 10e9, UsefulMaxNs: 10e9, UsefulMaxRank: 1, Ranks: 1}
	// The run takes 15 s.
	later := both
	later.RuntimeNs, later.ParallelEfficiency, later.CommunicationEfficiency = 15e9, 8./15, 10./15
	for _, c := range []struct {
		name   string
		useful []uint64
		change func(ps []*profile.Profile)
		want   *POP
	}{
		{"two ranks", []uint64{6, 10}, func([]*profile.Profile) {}, &both},
		{"threads share the time in MPI", []uint64{0, 4}, func(ps []*profile.Profile) {
			ps[0].Threads, ps[1].Threads = 2, 4 // 12 s of two threads are 6 s, 8 s of four are 2 s
		}, &both},
		{"threads that live for a part of the run", []uint64{0, 4}, func(ps []*profile.Profile) {
			ps[0].Threads, ps[0].Lifetimes = 4, 24e9 // 12 s of 24 s are half of the run
			ps[1].Threads, ps[1].Lifetimes = 2, 48e9 // 8 s of 48 s are a sixth
		}, &both},
		{"threads that live for less than the run", []uint64{6, 10}, func(ps []*profile.Profile) {
			ps[0].Threads, ps[0].Lifetimes = 2, 7e9
			ps[1].Threads, ps[1].Lifetimes = 2, 2e9
		}, &both},
		{"a rank that begins later", []uint64{6, 10}, func(ps []*profile.Profile) {
			ps[0].Host = ps[1].Host
			ps[0].InitEnd, ps[0].FinalizeStart = ps[1].InitEnd+3000*ms, ps[1].FinalizeStart+3000*ms
		}, &later},
		{"a rank that begins later by another clock", []uint64{6, 10}, func(ps []*profile.Profile) {
			ps[0].InitEnd, ps[0].FinalizeStart = ps[0].InitEnd+3000*ms, ps[0].FinalizeStart+3000*ms
		}, &both},
		{"a rank that did not finalize", []uint64{6, 10}, func(ps []*profile.Profile) {
			ps[0].State, ps[0].FinalizeStart = profile.Running, 0
		}, &second},
		{"a rank that was not timed", []uint64{6, 10}, func(ps []*profile.Profile) {
			ps[0].Timing, ps[0].Rows[1].TimeNs = profile.TimingOff, 0
		}, &second},
		{"a rank that never left MPI_Init", []uint64{6, 10}, func(ps []*profile.Profile) { ps[0].InitEnd = 0 }, &second},
		{"a process without a rank", []uint64{6, 10}, func(ps []*profile.Profile) { ps[0].Rank = -1 }, &second},
		{"a rank with less to do is there for less time", []uint64{6, 10}, func(ps []*profile.Profile) {
			ps[0].FinalizeStart -= 3000 * ms
			ps[0].Rows[1].TimeNs -= 3000 * ms
		}, &both},
		{"equal ranks", []uint64{9, 9}, func([]*profile.Profile) {}, &POP{ParallelEfficiency: 0.75, LoadBalance: 1,
			CommunicationEfficiency: 0.75, RuntimeNs: 12e9, UsefulMeanNs: 9e9, UsefulMaxNs: 9e9, UsefulMaxRank: 0, Ranks: 2}},
		{"an estimate of more time than there was", []uint64{0, 0}, func(ps []*profile.Profile) { ps[1].Rows[1].TimeNs += 1 },
			&POP{LoadBalance: 1, RuntimeNs: 12e9, UsefulMaxRank: 0, Ranks: 2}},
		{"no rank finalized", []uint64{6, 10}, func(ps []*profile.Profile) {
			ps[0].State, ps[1].State = profile.Running, profile.Running
		}, nil},
		{"--timing off", []uint64{6, 10}, func(ps []*profile.Profile) {
			ps[0].Timing, ps[1].Timing = profile.TimingOff, profile.TimingOff
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ps := computing(c.useful...)
			c.change(ps)
			j := New(ps)
			if diff := cmp.Diff(c.want, j.Summary().POP); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The estimated times of two threads in MPI have errors of 600 and 800 ms: 300
// and 400 ms of a rank's useful time, 500 ms of their sum, 250 ms of their
// mean.
func TestPOPOfEstimates(t *testing.T) {
	ps := computing(0, 4)
	for r, wrong := range []uint64{600 * ms, 800 * ms} {
		ps[r].Timing, ps[r].Threads, ps[r].Rows[1].TimeErrorNs = profile.TimingSampled, 2, wrong
	}
	j := New(ps)
	// Rank 0 has 12 - 12 / 2 s, rank 1 has 12 - 8 / 2 s.
	p := j.Summary().POP
	if p.UsefulMeanNs != 7e9 || p.UsefulMaxNs != 8e9 || !near(p.ParallelEfficiencyError, 0.25/12) {
		t.Errorf("got %+v", p)
	}
}

func TestPOPIgnoresOrder(t *testing.T) {
	checkAnyOrder(t, 50, func() []*profile.Profile {
		ps := computing(3, 10, 7, 10, 5)
		ps[2].State = profile.Running
		ps[3].Timing, ps[3].Rows[1].TimeErrorNs = profile.TimingSampled, 7*ms
		ps[4].Timing, ps[4].Rows[1].TimeErrorNs = profile.TimingSampled, 11*ms
		return ps
	})
}

func TestPOPInJSON(t *testing.T) {
	of := func(ps []*profile.Profile) string {
		var parsed struct{ POP json.RawMessage }
		raw, err := json.Marshal(New(ps).Summary())
		if err == nil {
			err = json.Unmarshal(raw, &parsed)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(parsed.POP)
	}
	want := `{"parallel_efficiency":0.75,"parallel_efficiency_error":0,"load_balance":0.75,"communication_efficiency":1,` +
		`"runtime_ns":12000000000,"useful_mean_ns":9000000000,"useful_max_ns":12000000000,"useful_max_rank":1,"ranks":2}`
	if got := of(computing(6, 12)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	off := computing(6, 12)
	off[0].Timing, off[1].Timing = profile.TimingOff, profile.TimingOff
	if got := of(off); got != "null" {
		t.Errorf("--timing off: got %s", got)
	}
}

package nullmpi

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// ofPrograms is a program that also runs under other MPIs.
func ofPrograms(name string) string { return filepath.Join("..", "programs", name) }

// sentBy returns what the rank sent to itself by Sendrecv, by phase.
func sentBy(p *profile.Profile) map[string]volume {
	sent := map[string]volume{}
	for name, phase := range phasesOf(p) {
		sent[name] = phase.moved[flow{"Sendrecv", false, 0}]
	}
	return sent
}

// TestNoRoomForAThread counts the calls of a thread for which there is no
// table. The program must not notice.
func TestNoRoomForAThread(t *testing.T) {
	m := Build(t)
	p := m.Record(t, nil, m.Compile(t, ofPrograms("full.c")))
	barriers := uint64(0)
	for _, r := range p.Rows {
		if r.Call == "Barrier" {
			barriers += r.Calls
		}
	}
	if p.Losses.Calls != 1000 || barriers != 1 {
		t.Errorf("%d lost calls and %d barriers, want 1000 and 1", p.Losses.Calls, barriers)
	}
}

// TestManySlices begins more slices than the library distinguishes.
func TestManySlices(t *testing.T) {
	const phases, limit = 20000, 1 << 14
	m := Build(t)
	p := m.Record(t, nil, m.Compile(t, ofPrograms("many_phases.c")), fmt.Sprint(phases))
	if len(p.Slices) != limit || p.Losses.Any() {
		t.Errorf("%d slices, want %d; lost %+v", len(p.Slices), limit, p.Losses)
	}
	// Slice 0 is "run", and the last one is "others". Each phase sends its
	// number modulo 8 in bytes, and occurs twice.
	sent, others := sentBy(p), volume{}
	for k := range uint64(phases) {
		want := volume{2, 2 * (k % 8)}
		if k >= limit-2 {
			others = volume{others.messages + want.messages, others.bytes + want.bytes}
		} else if got := sent[fmt.Sprint("phase ", k)]; got != want {
			t.Errorf("phase %d: %v, want %v", k, got, want)
		}
	}
	if sent["others"] != others {
		t.Errorf("the others: %v, want %v", sent["others"], others)
	}
}

// TestThreadEnds checks that the table of a thread that has ended is used for
// the next thread.
func TestThreadEnds(t *testing.T) {
	m := Build(t)
	p := m.Record(t, nil, m.Compile(t, ofPrograms("thread_ends.c")))
	want := volume{200, 199 * 200 / 2} // thread k sends k bytes
	var got volume
	for _, phase := range sentBy(p) { // a phase is that of all threads, so it is not known of which calls
		got = volume{got.messages + phase.messages, got.bytes + phase.bytes}
	}
	if got != want || p.Losses.Any() {
		t.Errorf("sent %v, want %v; lost %+v", got, want, p.Losses)
	}
	if p.Threads < 1 || p.Threads > 9 {
		t.Errorf("%d tables of at most 9 threads at a time", p.Threads)
	}
}

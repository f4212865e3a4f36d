package recording

import (
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// TestClockCheck checks the clocks of a process that ran for 100 s, 30 s of
// them in MPI_Init.
func TestClockCheck(t *testing.T) {
	const second = uint64(time.Second)
	at := func(s uint64) layout.Clock { // a counter of 2 GHz
		return layout.Clock{Ticks: 5000 + 2*s*second, Monotonic: 7000 + s*second, Realtime: 1e18 + s*second}
	}
	for name, test := range map[string]struct {
		change func(h *layout.Header)
		want   profile.ClockCheck
		took   time.Duration // from the start to the end
	}{
		"agree":                   {func(*layout.Header) {}, profile.ClockCheck{}, 100 * time.Second},
		"read 0.5 ms apart":       {func(h *layout.Header) { h.InitEnd.Monotonic += 500_000 }, profile.ClockCheck{}, 100 * time.Second},
		"slewed by 500 ppm":       {func(h *layout.Header) { h.FinalizeEnd.Realtime += second / 20 }, profile.ClockCheck{}, 100 * time.Second},
		"counter stopped for 1 s": {func(h *layout.Header) { h.InitEnd.Ticks -= 2 * second }, profile.ClockCheck{Error: 1e9}, 100 * time.Second},
		"time set by an hour": {func(h *layout.Header) { h.FinalizeEnd.Realtime += 3600 * second },
			profile.ClockCheck{Step: 3600e9}, 100 * time.Second},
		"time set back": {func(h *layout.Header) { h.FinalizeEnd.Realtime -= 3600 * second },
			profile.ClockCheck{Step: -3600e9}, 100 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			f := file{header: layout.Header{Clock: layout.ClockTSC, Start: at(0), InitEnd: at(30), FinalizeStart: at(100), FinalizeEnd: at(100)}}
			test.change(&f.header)
			if got := f.checkClocks(); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
			if took := time.Duration(f.timeOf(f.header.FinalizeEnd) - f.timeOf(f.header.Start)); took != test.took {
				t.Errorf("it took %v, want %v", took, test.took)
			}
		})
	}
}

// Processes under one kernel share a clock, whatever their hosts are called.
// CLOCK_MONOTONIC may differ between them.
func TestClockID(t *testing.T) {
	id := func(kind uint32, host, boot string) string {
		f := file{header: layout.Header{Clock: kind}, strings: map[uint32]string{layout.StringHost: host, layout.StringBoot: boot}}
		return f.clockID()
	}
	for _, kind := range []uint32{layout.ClockTSC, layout.ClockCNTVCT} {
		if id(kind, "a", "x") != id(kind, "b", "x") || id(kind, "a", "x") == id(kind, "a", "y") || id(kind, "a", "") != "" {
			t.Errorf("kind %d: %q, %q, %q", kind, id(kind, "a", "x"), id(kind, "b", "x"), id(kind, "a", "y"))
		}
	}
	if a, b := id(layout.ClockMonotonic, "a", "x"), id(layout.ClockMonotonic, "b", "x"); a == b || a != id(layout.ClockMonotonic, "a", "x") {
		t.Errorf("CLOCK_MONOTONIC: %q and %q", a, b)
	}
}

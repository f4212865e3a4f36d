package trace

import (
	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/profile"
)

// stops are the calls and call sites before and after bursts.
type stops struct {
	at map[stop]int32
}

type stop struct{ call, site string }

// The first stops: what is before the first call of a lane, and after its last one.
const (
	initialized int32 = iota
	finalized
)

func newStops() stops {
	return stops{map[stop]int32{{call: "Init"}: initialized, {call: "Finalize"}: finalized}}
}

// index returns the number of a stop. All functions that start MPI are the same stop, and all that
// end it.
func (s *stops) index(call, site string) int32 {
	at := stop{call, site}
	if profile.SetsUp(call) {
		at = stop{call: "Init"}
		if profile.TraitsOf(call).Any(profile.TraitFinalizes) {
			at.call = "Finalize"
		}
	}
	i, ok := s.at[at]
	if !ok {
		i = int32(len(s.at))
		s.at[at] = i
	}
	return i
}

// burst returns the key of a kind of bursts.
func (s *stops) burst(b *causes.Burst) burstKey {
	return burstKey{s.index(b.Before.Call, b.Before.Callsite), s.index(b.After.Call, b.After.Callsite)}
}

// burstKey is a kind of burst of a process, by the stops before and after it.
type burstKey struct{ before, after int32 }

type burstSum struct {
	count uint64
	ns    int64
}

// bursts are the sums over the threads of a process. A call right after another one has a burst of 0
// ns before it.
type bursts map[burstKey]*burstSum

func (b bursts) add(before int32, to *kind, ns int64) {
	if to.burst == nil || to.from != before {
		key := burstKey{before, to.stop}
		if b[key] == nil {
			b[key] = new(burstSum)
		}
		to.from, to.burst = before, b[key]
	}
	to.burst.count++
	to.burst.ns += ns
}

package trace

import (
	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/profile"
)

// stops are the numbers of calls and call sites before and after bursts.
type stops map[stop]int32

type stop struct{ call, site string }

// The first stops: what is before the first call of a lane, and after its last one.
const (
	initialized int32 = iota
	finalized
	firstStop
)

// index returns the number of a stop. All functions that start MPI are the same stop, and all that
// end it.
func (s stops) index(call, site string) int32 {
	switch {
	case !profile.SetsUp(call):
	case profile.TraitsOf(call).Any(profile.TraitFinalizes):
		return finalized
	default:
		return initialized
	}
	i, ok := s[stop{call, site}]
	if !ok {
		i = firstStop + int32(len(s))
		s[stop{call, site}] = i
	}
	return i
}

// burst returns the key of a kind of bursts.
func (s stops) burst(b *causes.Burst) burstKey {
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

// latestBurst is the kind of burst that was before the latest call of a kind. Programs often repeat
// the same.
type latestBurst struct {
	key burstKey
	sum *burstSum
}

// add adds a burst to the sums.
func (l *latestBurst) add(to bursts, key burstKey, ns int64) {
	if l.sum == nil || l.key != key {
		if to[key] == nil {
			to[key] = new(burstSum)
		}
		l.key, l.sum = key, to[key]
	}
	l.sum.count++
	l.sum.ns += ns
}

package trace

import (
	"slices"

	"github.com/mpitrace/mpitrace/internal/causes"
)

// A second replay tries what the run would take without its largest causes. All of them are tried
// side by side, each with a clock of its own.

const (
	// leastShare is the least share of a cause that is tried.
	leastShare = 0.02
	// mostReplayed is the number of events of the largest job that is replayed again. A replay takes
	// about as long as the first one, which is a matter of seconds up to here.
	mostReplayed = 50_000_000
)

// savings sets what each of the largest causes saves. It replays the job once, with a change for
// each of them.
func (r *replay) savings(list []causes.Cause) error {
	var tried []*causes.Cause
	for i := range list {
		c := &list[i]
		switch c.Class {
		case causes.Chain:
			c.BoundS = seconds(r.runtime() - r.mostUseful())
		case causes.Imbalance, causes.Varying, causes.Order:
			if c.Share >= leastShare && len(tried) < maxChanges && r.steps <= mostReplayed {
				tried = append(tried, c)
			}
		}
	}
	if len(tried) == 0 {
		return nil
	}
	again := r.again()
	for _, c := range tried {
		again.changes = append(again.changes, again.without(c))
	}
	if err := again.all(); err != nil {
		return err
	}
	for i, c := range tried {
		saves := max(seconds(r.runtime()-again.runtimeWith(i)), 0)
		c.SavesS = &saves
	}
	return nil
}

// runtimeWith returns the run time with a change, in ns.
func (r *replay) runtimeWith(change int) int64 {
	var last int64
	for _, p := range r.processes {
		last = max(last, p.endOn(1+change, r.start))
	}
	return last
}

// mostUseful returns the computing of the rank that computes longest, in ns. The run cannot be shorter
// than this.
func (r *replay) mostUseful() int64 {
	var most int64
	for _, p := range r.processes {
		most = max(most, p.useful())
	}
	return most
}

// without returns the change that takes a cause out of the program that causes it:
//   - imbalance: the bursts of the ranks named are scaled to the mean of the ranks that have any. If
//     only they have any, all ranks share the work: the others do their part before the calls in which
//     they wait.
//   - varying work: each burst takes the mean of its rank.
//   - order: the burst comes after the sends behind it, and after its receives have been posted.
func (r *replay) without(c *causes.Cause) change {
	ch := change{burstKey: r.stops.burst(c.Burst), putOff: c.Class == causes.Order, ranks: make([]rankChange, len(r.processes))}
	have, mean := r.first.burstsOf(c)
	for i, p := range r.processes {
		x, rank := &ch.ranks[i], int(p.rank)
		switch {
		case c.Class == causes.Imbalance && have[i].ns == 0:
			if c.Alone {
				r.takesOver(x, p, c, mean)
			}
		case c.Class == causes.Imbalance:
			*x = rankChange{changed: c.Named.Contains(rank), scale: min(mean/float64(have[i].ns), 1)}
		case c.Class == causes.Varying && have[i].count > 0:
			*x = rankChange{changed: true, constant: float64(have[i].ns) / float64(have[i].count)}
		case c.Class == causes.Order:
			x.changed = slices.ContainsFunc(c.Ranks, func(k causes.RankCost) bool { return k.Rank == rank })
		}
	}
	return ch
}

// burstsOf returns the bursts of a cause by process of the program that causes it, and the mean time
// of the ranks that have any, or of all that could share it, in ns.
func (r *replay) burstsOf(c *causes.Cause) (have []burstSum, mean float64) {
	have = make([]burstSum, len(r.processes))
	key, programs := r.stops.burst(c.Burst), programNames(r.processes)
	n, sharing := 0, 0
	for i, p := range r.processes {
		if programs[i] == c.To || programs[i] == c.From {
			sharing++
		}
		if sum := p.bursts[key]; sum != nil && sum.ns > 0 && programs[i] == c.To {
			have[i] = *sum
			n++
			mean += float64(sum.ns)
		}
	}
	if c.Alone {
		n = sharing
	}
	return have, mean / float64(max(n, 1))
}

// takesOver adds work of some ns in all to a rank, before the calls in which it waits most for those
// that did the work alone.
func (r *replay) takesOver(x *rankChange, p *replayedRank, c *causes.Cause, ns float64) {
	for _, s := range c.Seen { // the largest cost first
		if !s.Ranks.Contains(int(p.rank)) {
			continue
		}
		n := uint64(0)
		first := r.first.stops.index(s.Call, s.Callsite)
		for key, sum := range r.first.processes[p.index].bursts {
			if key.after == first {
				n += sum.count
			}
		}
		if n > 0 {
			x.extra, x.at = ns/float64(n), r.stops.index(s.Call, s.Callsite)
			return
		}
	}
}

package trace

import "math"

// change is what becomes of the bursts of one kind if a cause is taken out.
type change struct {
	burstKey
	putOff bool         // until the rank has sent, or posted its receives
	ranks  []rankChange // by index in replay.processes
}

// rankChange is what becomes of the bursts of one rank.
type rankChange struct {
	changed bool
	// Each takes scale times as long, and constant ns.
	scale, constant float64
	// extra is the work, in ns, that the rank takes over before each call at a stop.
	extra float64
	at    int32
}

// burst returns how long a burst takes with the change, and how much of it is done later, in ns.
func (ch *change) burst(process int, key burstKey, ns int64) (takes, later int64) {
	x := &ch.ranks[process]
	switch {
	case x.extra > 0 && key.after == x.at && key.before != finalized: // MPI_Finalize has been counted
		return ns + round(x.extra), 0
	case !x.changed || key != ch.burstKey:
		return ns, 0
	case ch.putOff:
		return 0, ns
	}
	return round(float64(ns)*x.scale + x.constant), 0
}

func round(ns float64) int64 { return int64(math.Round(ns)) }

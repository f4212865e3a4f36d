package aggregate

import (
	"encoding/json"
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// TimePart is a part of the time of a job.
type TimePart uint8

// The parts. Each moment of a rank belongs to the first part that applies. WithoutCore is then taken
// off the other parts, except EndedEarly, in proportion to their time.
const (
	EndedEarly  TimePart = iota // before the rank's end of MPI_Init and after its begin of MPI_Finalize, while others run
	FileIO                      // in MPI-IO
	Waiting                     // in wait states of the trace; without a trace, about: see waitingSums
	SetUp                       // in constructors, see profile.MakesObject, and in those that open and close later sessions
	MovingData                  // in all other calls; without a trace, they may wait too
	Computing                   // outside MPI
	WithoutCore                 // ready to run, but without a core: an estimate
	NumTimeParts
)

var timePartNames = [NumTimeParts]string{"ended early, began later", "MPI-IO", "waiting", "set-up", "moving data", "computing", "no core"}

func (p TimePart) String() string {
	if p < NumTimeParts {
		return timePartNames[p]
	}
	return "unknown"
}

// TimeParts is a time divided into parts, in ns.
type TimeParts [NumTimeParts]int64

// Sum returns the time that is divided.
func (p *TimeParts) Sum() (ns int64) {
	for _, part := range p {
		ns += part
	}
	return ns
}

func (p *TimeParts) byName() map[string]*int64 {
	out := map[string]*int64{}
	for part := range p {
		out[TimePart(part).String()] = &p[part]
	}
	return out
}

// MarshalJSON returns an object of all parts, by name.
func (p TimeParts) MarshalJSON() ([]byte, error) { return json.Marshal(p.byName()) }

// UnmarshalJSON is the inverse of MarshalJSON. It ignores unknown parts.
func (p *TimeParts) UnmarshalJSON(data []byte) error {
	var byName map[string]int64
	if err := json.Unmarshal(data, &byName); err != nil {
		return err
	}
	for part := range p {
		p[part] = byName[TimePart(part).String()]
	}
	return nil
}

// NoCoreKnown says how well the time without a core is known.
type NoCoreKnown uint8

// The values of NoCoreKnown.
const (
	NoCoreUnknown NoCoreKnown = iota // for no rank
	NoCoreAtLeast                    // for some ranks or threads only
	NoCoreExact
)

var noCoreNames = [...]string{"unknown", "at least", "exact"}

func (k NoCoreKnown) String() string {
	if int(k) < len(noCoreNames) {
		return noCoreNames[k]
	}
	return "unknown"
}

// MarshalText returns the name of the value.
func (k NoCoreKnown) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the inverse of MarshalText. An unknown name is NoCoreUnknown.
func (k *NoCoreKnown) UnmarshalText(text []byte) error {
	*k = NoCoreUnknown
	for i, name := range noCoreNames {
		if name == string(text) {
			*k = NoCoreKnown(i)
		}
	}
	return nil
}

// TimeTree divides ranks × run time. The run time is that of POP, but the tree also has the ranks
// that did not finalize, up to their last known moment.
type TimeTree struct {
	Ranks     int       `json:"ranks"` // whose times are known
	RuntimeNs int64     `json:"runtime_ns"`
	Parts     TimeParts `json:"parts_ns"` // the sum is Ranks × RuntimeNs
	// Before are the parts before WithoutCore is taken off. The cost of a finding, which includes time
	// without a core, is compared with these.
	Before TimeParts `json:"parts_before_no_core_ns"`
	// Traced is whether Waiting is from the trace. Then MovingData does not wait.
	Traced bool `json:"traced"`
	// NoCore is the share without a core; 0 if NoCoreKnown is NoCoreUnknown, in JSON null.
	NoCore      float64     `json:"no_core"`
	NoCoreKnown NoCoreKnown `json:"no_core_known"`
	ErrorNs     float64     `json:"error_ns"` // standard error of Computing if times are estimates, otherwise 0
	// Time in MPI_Init and MPI_Finalize, which are not parts: the mean of the ranks that called them.
	InitNs     float64 `json:"init_ns"`
	FinalizeNs float64 `json:"finalize_ns"`
}

// MarshalJSON returns JSON with null for the time without a core if it is not known.
func (t TimeTree) MarshalJSON() ([]byte, error) {
	type plain TimeTree
	out := struct {
		plain
		Parts  map[string]*int64 `json:"parts_ns"`
		NoCore *float64          `json:"no_core"`
	}{plain(t), t.Parts.byName(), &t.NoCore}
	if t.NoCoreKnown == NoCoreUnknown {
		out.Parts[WithoutCore.String()], out.NoCore = nil, nil
	}
	return json.Marshal(out)
}

// TotalNs returns ranks × run time; 0 for nil.
func (t *TimeTree) TotalNs() int64 {
	if t == nil {
		return 0
	}
	return int64(t.Ranks) * t.RuntimeNs
}

// Share returns a part of ranks × run time as a fraction.
func (t *TimeTree) Share(p TimePart) float64 { return t.ShareOf(float64(t.Parts[p])) }

// ShareOf returns a time as a fraction of ranks × run time.
func (t *TimeTree) ShareOf(ns float64) float64 {
	if total := t.TotalNs(); total > 0 {
		return ns / float64(total)
	}
	return 0
}

// InMPI returns the share of time in MPI, without the time without a core.
func (t *TimeTree) InMPI() float64 { return t.ShareOf(t.Parts.inMPI()) }

// InMPIBefore returns the share of time in MPI, with the time without a core.
func (t *TimeTree) InMPIBefore() float64 { return t.ShareOf(t.Before.inMPI()) }

func (p *TimeParts) inMPI() float64 {
	return float64(p[FileIO] + p[Waiting] + p[SetUp] + p[MovingData])
}

// RankWaits are the wait states of a rank in its trace, in ns of the rank's own time.
type RankWaits struct{ InConstructors, Elsewhere int64 }

// treeOf returns the tree of a job without a trace; nil if no rank's times are known.
func (j *Job) treeOf(s *Summary) *TimeTree {
	t := newTree(s, 0, nil)
	if t == nil {
		return nil
	}
	ps := j.ordered()
	known, all := 0, true
	for i := range ps {
		if !ps[i].inTree() {
			continue
		}
		c := ps[i].Cores
		ok := c != nil && c.NoCore != nil
		if ok {
			known++
		}
		all = all && ok && !c.NoCoreAtLeast
	}
	switch {
	case known == 0:
	case all:
		t.NoCoreKnown = NoCoreExact
	default:
		t.NoCoreKnown = NoCoreAtLeast
	}
	if t.Ranks > 1 && s.Timing == profile.TimingExact.String() {
		t.moveWaits(j.allWait.sum())
	}
	return t
}

// UseWaits gives the tree the wait states of the job's traces, and the run time that the traces have.
// of returns the wait states of a rank.
func (s *Summary) UseWaits(runtimeNs int64, of func(rank int) RankWaits) {
	if s.Tree == nil {
		return
	}
	traced := newTree(s, runtimeNs, of)
	traced.NoCoreKnown, traced.Traced = s.Tree.NoCoreKnown, true
	s.Tree = traced
}

// newTree returns the tree with the waits of each rank; nil if no rank's times are known. waits may
// be nil. The run time is at least runtimeNs.
func newTree(s *Summary, runtimeNs int64, waits func(rank int) RankWaits) *TimeTree {
	t := &TimeTree{}
	var run runSpan
	for i := range s.Ranks {
		if r := &s.Ranks[i]; r.inTree() {
			t.Ranks++
			run.add(r)
			t.ErrorNs = math.Hypot(t.ErrorNs, r.usefulErrorNs())
		}
	}
	if t.Ranks == 0 {
		return nil
	}
	t.RuntimeNs = int64(run.ns())
	if runtimeNs > 0 {
		t.RuntimeNs = max(runtimeNs, int64(run.longest))
	}
	for i := range s.Ranks {
		r := &s.Ranks[i]
		if !r.inTree() {
			continue
		}
		own := r.parts()
		own[EndedEarly] = max(t.RuntimeNs-r.ownNs(), 0)
		if waits != nil {
			own.wait(waits(r.Rank))
		}
		t.add(&own, noCoreShare(r))
	}
	t.InitNs = s.meanOf(profile.TraitInitializes, func(times *sessionTimes) uint64 { return times.OpensNs })
	t.FinalizeNs = s.meanOf(profile.TraitFinalizes, func(times *sessionTimes) uint64 { return times.ClosesNs })
	t.NoCore = t.Share(WithoutCore)
	return t
}

// meanOf returns the time in calls with a trait, as the mean of the ranks that made one. A rank makes
// several only with MPI sessions; of these, those within its own time are left out.
func (s *Summary) meanOf(trait profile.Traits, within func(*sessionTimes) uint64) (ns float64) {
	calls := uint64(0)
	for i := range s.Calls {
		if c := &s.Calls[i]; profile.TraitsOf(c.Call).Any(trait) {
			calls, ns = calls+c.Calls, ns+float64(c.TimeNs)
		}
	}
	for i := range s.Ranks {
		ns -= float64(within(&s.Ranks[i].LaterSessions))
	}
	return max(ns, 0) / float64(max(1, min(calls, uint64(s.RanksRecorded))))
}

// inTree reports whether the times of the process are known.
func (t *RankTimes) inTree() bool { return t.Rank >= 0 && t.Timed() && t.ApplicationTimeS > 0 }

func (t *RankTimes) ownNs() int64 { return int64(math.Round(1e9 * t.ApplicationTimeS)) }

// parts divides the rank's own time without waits. Estimates may exceed it; then they are scaled.
func (t *RankTimes) parts() (out TimeParts) {
	share, own := t.OwnShare(), t.ownNs()
	inMPI := 1e9 * t.MPITimeS * share
	scale := 1.0
	if inMPI > float64(own) {
		scale = float64(own) / inMPI
	}
	ns := func(ns float64) int64 { return int64(math.Round(ns * scale)) }
	calls := min(ns(inMPI), own)
	out[FileIO] = min(ns(float64(t.Activities[profile.InFileIO])*share), calls)
	out[SetUp] = min(ns(float64(t.ConstructorsNs)*share), calls-out[FileIO])
	out[MovingData] = calls - out[FileIO] - out[SetUp]
	out[Computing] = own - calls
	return out
}

// wait moves waits from the other parts to Waiting.
func (p *TimeParts) wait(w RankWaits) {
	inSetUp, elsewhere := min(w.InConstructors, p[SetUp]), min(w.Elsewhere, p[MovingData])
	p[SetUp] -= inSetUp
	p[MovingData] -= elsewhere
	p[Waiting] += inSetUp + elsewhere
}

// add adds the parts of a rank, which had no core for a share of its own time.
func (t *TimeTree) add(own *TimeParts, noCore float64) {
	for part, ns := range own {
		taken := int64(0)
		if TimePart(part) != EndedEarly {
			taken = int64(math.Round(float64(ns) * noCore))
		}
		t.Before[part] += ns
		t.Parts[part] += ns - taken
		t.Parts[WithoutCore] += taken
	}
}

// moveWaits moves the waits in collectives from MovingData to Waiting. taken is the time without a
// core in them.
func (t *TimeTree) moveWaits(waited, taken int64) {
	waited = min(waited, t.Before[MovingData])
	t.Before[MovingData] -= waited
	t.Before[Waiting] += waited
	kept := max(min(waited-taken, t.Parts[MovingData]), 0)
	t.Parts[MovingData] -= kept
	t.Parts[Waiting] += kept
}

// noCoreShare returns the share of its own time in which the process had no core; 0 if it is not
// known.
func noCoreShare(t *RankTimes) float64 {
	if t.Cores == nil || t.Cores.NoCore == nil {
		return 0
	}
	return *t.Cores.NoCore
}

package aggregate

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// ComparedJob is a job that is to be compared: the sums of a Job, and sums by
// communicator.
type ComparedJob struct {
	*Job
	comms commSums
}

// OfCompared reads a job that is to be compared.
func OfCompared(src profile.Source, o Options) (*ComparedJob, error) {
	c := &ComparedJob{Job: NewJob(o)}
	err := src.Each(func(p *profile.Profile) error {
		c.Add(p)
		c.comms.add(p)
		return nil
	})
	return c, err
}

// Diff is the difference between two jobs, A and B. Each list has what changed
// in any measure, the largest change first, and leaves out what is equal.
type Diff struct {
	A DiffSide `json:"a"`
	B DiffSide `json:"b"`

	TimesCompared bool `json:"times_compared"` // false if calls were not timed: times of calls are then null

	RunTime *TimeChange `json:"run_time"` // null if the times of a side are not known or are ignored, or if a rank did not finalize

	WallTime        Lifetime `json:"wall_time_ns"`
	ApplicationTime Lifetime `json:"application_time_ns"`
	InitFinalize    Measure  `json:"init_finalize_time_ns"` // not included in any other time here

	Settings  []SettingChange `json:"settings"`  // of mpitrace, if not the default; null if they cannot be compared
	Variables []SettingChange `json:"variables"` // control variables of the MPI that the user set; null if they cannot be compared

	Total     Changes      `json:"total"` // each message counts once, where it was sent; time is that in MPI
	Calls     []CallChange `json:"calls"`
	CallSites []SiteChange `json:"callsites"`
	Comms     []CommChange `json:"communicators"`
	Pairs     PairChanges  `json:"pairs"`

	Late     []LateChange    `json:"late_receives"` // null if they cannot be compared
	Counters []CounterChange `json:"counters"`      // performance variables of the MPI

	Exceeded []Excess `json:"exceeded"` // set by Judge; null if it was not called
}

// DiffSide is one of the two jobs.
type DiffSide struct {
	Run           string    `json:"run"`
	Program       string    `json:"program"` // of the lowest rank
	Programs      Programs  `json:"programs"`
	Command       []string  `json:"command"`
	Library       string    `json:"mpi_library"`
	Started       time.Time `json:"started"`
	RanksExpected int       `json:"ranks_expected"`
	RanksRecorded int       `json:"ranks_recorded"`
	Unfinished    int       `json:"unfinished_ranks"` // recorded ranks that did not reach MPI_Finalize
	SharedCores   bool      `json:"shared_cores"`     // whether ranks shared cores, so that times are uncertain
	Hosts         int       `json:"hosts"`
	Timing        string    `json:"timing"`
	Receives      string    `json:"receives"`
	LateOver      string    `json:"late_over,omitempty"` // as in a Summary
	POP           *POP      `json:"pop"`                 // as in a Summary
	Tree          *TimeTree `json:"time_tree"`           // as in a Summary
	Problems      []string  `json:"problems"`            // why the record may be incomplete
}

// Measure is a number in A and in B.
type Measure struct {
	A uint64 `json:"a"`
	B uint64 `json:"b"`
}

// Changed reports whether the two numbers differ.
func (m Measure) Changed() bool { return m.A != m.B }

// Size returns the absolute difference.
func (m Measure) Size() uint64 { return max(m.A, m.B) - min(m.A, m.B) }

// Relative returns the change as a fraction of A. ok is false if A is 0.
func (m Measure) Relative() (float64, bool) {
	if m.A == 0 {
		return 0, false
	}
	return (float64(m.B) - float64(m.A)) / float64(m.A), true
}

// MarshalJSON returns {"a", "b", "change", "relative"}. relative is null if A
// is 0.
func (m Measure) MarshalJSON() ([]byte, error) { return m.marshal(&m.A, &m.B) }

// marshal returns the JSON of a measure, of which A or B is nil if it is not known.
func (m Measure) marshal(a, b *uint64) ([]byte, error) {
	out := struct {
		A        *uint64  `json:"a"`
		B        *uint64  `json:"b"`
		Change   *int64   `json:"change"`
		Relative *float64 `json:"relative"`
	}{A: a, B: b}
	if a != nil && b != nil {
		change := int64(m.B - m.A)
		out.Change = &change
		if share, ok := m.Relative(); ok {
			out.Relative = &share
		}
	}
	return json.Marshal(out)
}

// Lifetime is how long processes ran in A and in B. A side is 0 if this is not known: profile.arrow
// alone does not have the times.
type Lifetime struct{ Measure }

// Known reports whether the lifetimes of both sides are known.
func (l Lifetime) Known() bool { return l.A > 0 && l.B > 0 }

// MarshalJSON returns the JSON of a Measure, with null for a side that is not known.
func (l Lifetime) MarshalJSON() ([]byte, error) {
	known := func(n uint64) *uint64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return l.marshal(known(l.A), known(l.B))
}

// DiffStatus says whether something exists in both jobs.
type DiffStatus string

const (
	StatusSame    DiffStatus = "same"
	StatusChanged DiffStatus = "changed"
	StatusNew     DiffStatus = "new"  // in B only
	StatusGone    DiffStatus = "gone" // in A only
)

// Transfers is what was transferred, each message once. For a call or a call site
// it is what was sent or written there or, if neither job did so, what was
// received or read. For everything else it is what was sent, written or read.
type Transfers struct {
	Bytes    Measure `json:"bytes"`
	Messages Measure `json:"messages"`
}

// Changes holds all measures of one item.
type Changes struct {
	Status DiffStatus `json:"status"`
	Transfers
	Calls  Measure `json:"calls"`
	TimeNs Measure `json:"time_ns"`

	TimeVariance Variance `json:"time_error_ns"` // variance of the difference of the times
	OwnNs        Measure  `json:"own_time_ns"`   // as in Totals
}

// CallChange is the change of an MPI function.
type CallChange struct {
	Call string `json:"call"` // without MPI_
	Changes
}

// CommChange is the change on the communicators with the same name or, without
// names, with the same constructor.
type CommChange struct {
	Communicator string `json:"communicator"`
	Changes
}

// DiffOptions selects what is compared, and the order of the results.
type DiffOptions struct {
	Sort       MeasureName // InTime if empty
	Pairs      int         // number of pairs to list; all if negative
	IgnoreTime bool        // leave out what differs only in time

	// SettingsUnknown is set if the settings of A or B are not known. Then settings,
	// variables and late receives are not compared.
	SettingsUnknown bool

	inMPI Measure // time in MPI, of which a time must be a part that matters to be sorted by
}

// Compare computes the difference. Nothing may be added to the jobs after that.
func Compare(a, b *ComparedJob, o DiffOptions) *Diff {
	x, y := a.summarize(), b.summarize()
	compared := a.wasTimed() && b.wasTimed()
	ignored := o.IgnoreTime
	o.IgnoreTime = ignored || !compared
	if x.Receives != y.Receives {
		x.forgetReceived()
		y.forgetReceived()
	}
	total := totalChanges(x, y)
	o.inMPI = total.TimeNs
	d := &Diff{
		TimesCompared:   compared,
		A:               a.side(x),
		B:               b.side(y),
		WallTime:        Lifetime{nanoseconds(x.WallTimeS, y.WallTimeS)},
		ApplicationTime: Lifetime{nanoseconds(x.ApplicationTimeS, y.ApplicationTimeS)},
		InitFinalize:    nanoseconds(x.InitFinalizeTimeS, y.InitFinalizeTimeS),
		Settings:        compareSettings(a.settingsOf.others(), b.settingsOf.others()),
		Variables:       compareSettings(a.variables.inForce(), b.variables.inForce()),
		Total:           total,
		Calls:           compareCalls(x.Calls, y.Calls, o),
		CallSites:       compareSites(x.CallSites, y.CallSites, o),
		Comms:           compareComms(a.comms, b.comms, o),
		Late:            compareLate(x, y, a, b, o),
		Counters:        compareCounters(x.Pvars, y.Pvars, o),
	}
	if !ignored {
		d.RunTime = d.timeChange(x, y)
	}
	d.Pairs = comparePairsOf(a.Job, b.Job, o)
	if o.SettingsUnknown {
		d.Settings, d.Variables, d.Late = nil, nil, nil
	}
	return d
}

func (c *ComparedJob) side(s *Summary) DiffSide {
	return DiffSide{Run: s.Run, Program: s.Program, Programs: s.Programs, Command: s.Command, Library: s.Library, Started: s.Started,
		RanksExpected: c.Size(), RanksRecorded: len(c.Recorded()), Unfinished: len(c.Recorded()) - len(c.finalized()),
		SharedCores: len(c.oversubscriptions()) > 0, Hosts: len(s.Hosts), Timing: s.Timing, Receives: s.Receives, LateOver: s.LateOver, POP: popOf(s.Ranks), Tree: c.treeOf(s), Problems: c.Problems()}
}

// wasTimed reports whether the calls of all processes were timed.
func (c *ComparedJob) wasTimed() bool {
	return !slices.ContainsFunc(c.ordered(), func(p processFacts) bool { return !p.Timed() })
}

// forgetReceived removes the received messages and bytes, which are known for only one of the two
// jobs.
func (s *Summary) forgetReceived() {
	for i := range s.Calls {
		if profile.PostsReceive(s.Calls[i].Call) {
			s.Calls[i].Received = matrix.Volume{}
		}
	}
	for i := range s.CallSites {
		if profile.PostsReceive(s.CallSites[i].Call) {
			s.CallSites[i].Received = matrix.Volume{}
		}
	}
}

func nanoseconds(a, b float64) Measure { return Measure{uint64(a*1e9 + 0.5), uint64(b*1e9 + 0.5)} }

// totalChanges compares the totals without Init and Finalize, as in summaries.
func totalChanges(x, y *Summary) Changes {
	a, b := x.inMPI(), y.inMPI()
	return changesOf(&a, &b)
}

// inMPI returns the sum over all calls within the ranks' own times, with what was sent.
func (s *Summary) inMPI() CallTotals {
	var sum CallTotals
	for i := range s.Ranks {
		r := &s.Ranks[i]
		sum.TimeNs += r.LaterSessions.sum()
		sum.OwnNs += uint64(float64(r.LaterSessions.sum()) * r.OwnShare())
	}
	for _, c := range s.Calls {
		if !profile.SetsUp(c.Call) {
			sum.plus(c.Totals)
		}
	}
	for _, c := range s.Classes {
		sum.Sent.Add(matrix.Volume{Bytes: c.Bytes, Messages: c.Messages})
	}
	return sum
}

// changesOf compares two sums. One of them may be nil.
func changesOf(a, b *CallTotals) Changes {
	c := Changes{Status: StatusChanged}
	switch {
	case a == nil:
		c.Status, a = StatusNew, new(CallTotals)
	case b == nil:
		c.Status, b = StatusGone, new(CallTotals)
	}
	x, y := a.Sent, b.Sent
	if x == (matrix.Volume{}) && y == (matrix.Volume{}) {
		x, y = a.Received, b.Received
	}
	c.Transfers = trafficOf(x, y)
	c.Calls, c.TimeNs = Measure{a.Calls, b.Calls}, Measure{a.TimeNs, b.TimeNs}
	c.TimeVariance = a.TimeVariance + b.TimeVariance
	c.OwnNs = Measure{a.OwnNs, b.OwnNs}
	if c.Status == StatusChanged && !c.Differs(false) {
		c.Status = StatusSame
	}
	return c
}

func trafficOf(a, b matrix.Volume) Transfers {
	return Transfers{Measure{a.Bytes, b.Bytes}, Measure{a.Messages, b.Messages}}
}

// Changed reports whether the bytes or the messages differ.
func (t *Transfers) Changed() bool { return t.Bytes.Changed() || t.Messages.Changed() }

// Differs reports whether any measure changed. With ignoreTime, times do not
// count.
func (c *Changes) Differs(ignoreTime bool) bool {
	return c.Status == StatusNew || c.Status == StatusGone || c.Transfers.Changed() || c.Calls.Changed() ||
		!ignoreTime && c.TimeChanged()
}

// Certain is the number of standard errors by which two estimates must differ
// to count as changed: by chance, one in twenty differs by more than two.
const Certain = 2

// TimeChanged reports whether the times differ by more than the error of their
// estimates.
func (c *Changes) TimeChanged() bool {
	return c.TimeNs.Changed() && float64(c.TimeNs.Size()) > Certain*c.TimeVariance.StandardError()
}

// order sorts by the size of the change, the largest first. What changed the ranks' own time comes
// before what moved more bytes. A time that is not worth listing counts as unchanged: otherwise
// noise would decide the order of entries that take as long in A as in B. If two entries are equal in
// everything else, even such a time decides.
func (o DiffOptions) order(a, b *Changes) int {
	size := func(c *Changes) uint64 {
		if o.IgnoreTime || !c.worthTime(o.inMPI) {
			return 0
		}
		return c.OwnNs.Size()
	}
	time, anyTime := cmp.Compare(size(b), size(a)), 0
	if !o.IgnoreTime {
		anyTime = cmp.Compare(b.OwnNs.Size(), a.OwnNs.Size())
	}
	bytes, messages := cmp.Compare(b.Bytes.Size(), a.Bytes.Size()), cmp.Compare(b.Messages.Size(), a.Messages.Size())
	calls := cmp.Compare(b.Calls.Size(), a.Calls.Size())
	switch o.Sort {
	case InBytes:
		return cmp.Or(bytes, messages, time, calls, anyTime)
	case InMessages:
		return cmp.Or(messages, bytes, time, calls, anyTime)
	}
	return cmp.Or(time, bytes, messages, calls, anyTime)
}

func compareCalls(a, b []CallTotals, o DiffOptions) []CallChange {
	out := []CallChange{}
	byName(a, b, func(name string, x, y *CallTotals) {
		if c := changesOf(x, y); !profile.SetsUp(name) && c.Differs(o.IgnoreTime) {
			out = append(out, CallChange{name, c})
		}
	})
	slices.SortFunc(out, func(a, b CallChange) int {
		return cmp.Or(o.order(&a.Changes, &b.Changes), cmp.Compare(a.Call, b.Call))
	})
	return out
}

func compareComms(a, b commSums, o DiffOptions) []CommChange {
	out := []CommChange{}
	byName(a.totals(), b.totals(), func(name string, x, y *CallTotals) {
		if c := changesOf(x, y); c.Differs(o.IgnoreTime) {
			out = append(out, CommChange{name, c})
		}
	})
	slices.SortFunc(out, func(a, b CommChange) int {
		return cmp.Or(o.order(&a.Changes, &b.Changes), cmp.Compare(a.Communicator, b.Communicator))
	})
	return out
}

// byName calls each with the sums of the same name in both lists, nil for a
// missing one.
func byName(a, b []CallTotals, each func(name string, a, b *CallTotals)) {
	others := make(map[string]*CallTotals, len(b))
	for i := range b {
		others[b[i].Call] = &b[i]
	}
	for i := range a {
		each(a[i].Call, &a[i], others[a[i].Call])
		delete(others, a[i].Call)
	}
	for name, y := range others {
		each(name, nil, y)
	}
}

// commSums are sums by the label of a communicator. Ids are not compared: they
// depend on the members, and so on the number of ranks.
type commSums struct {
	sumsBy[string, CallTotals, *CallTotals]
}

func (s *commSums) add(p *profile.Profile) {
	ownShare := p.Times().OwnShare()
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Comm < 0 || int(r.Comm) >= len(p.Comms) {
			continue
		}
		c := &p.Comms[r.Comm]
		sum := s.of(cmp.Or(c.Name, c.Constructor, "without a name"))
		once := withoutReceived(r)
		sum.Totals.add(once, ownShare)
		sum.Sent.AddRow(once)
	}
}

func (s *commSums) totals() []CallTotals {
	out := make([]CallTotals, 0, len(s.known))
	for name, c := range s.known {
		c.Call = name
		out = append(out, *c)
	}
	return out
}

// SettingChange is a setting that differs between A and B. nil means not set.
type SettingChange struct {
	Name string  `json:"name"`
	A    *string `json:"a"`
	B    *string `json:"b"`
}

func compareSettings(a, b map[string]string) []SettingChange {
	out := []SettingChange{}
	for name, x := range a {
		if y, both := b[name]; !both {
			out = append(out, SettingChange{name, &x, nil})
		} else if x != y {
			out = append(out, SettingChange{name, &x, &y})
		}
	}
	for name, y := range b {
		if _, both := a[name]; !both {
			out = append(out, SettingChange{name, nil, &y})
		}
	}
	slices.SortFunc(out, func(a, b SettingChange) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

package aggregate

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"unique"

	"github.com/mpitrace/mpitrace/profile"
)

// processFacts is what a job keeps of each process. There may be millions.
type processFacts struct {
	*RankTimes
	*processKind
	start  int64
	losses *profile.Losses // nil if there were none
	usage  *profile.Usage  // nil if not known
	clocks profile.ClockCheck
}

// processKind is what many processes have in common.
type processKind struct {
	size             int // size of MPI_COMM_WORLD, -1 if not known
	program, library string
	executable       programKey
	command          string // argument vector, separated by NUL
	unfollowed       bool   // see profile.Profile.Unfollowed
	watched          string // value of --watch-unexpected, empty if off
	timing           string // name of a profile.Timing
	threads          int
	unseen           string // which calls did not reach mpitrace's library, in lines
	alone            string // Profile.Alone
	messages         string // Profile.Messages, separated by NUL
	settings         string // recorded settings: name=value, separated by NUL
}

// processes holds the processes of a job.
type processes struct {
	n         int
	added     []processChunk // not in list yet
	times     []RankTimes    // of list, in the same order
	list      []processFacts // ordered
	unordered bool           // list is not, after a merge
}

// processChunk holds processes that were added. It is not one list that grows, because growing
// needs more than twice the memory. Its records contain no pointers, because the garbage collector
// would read them again and again.
type processChunk struct {
	*processTables
	records []processRecord
}

const processesInChunk = 512

// processRecord holds a process and its RankTimes. Members that are not numbers are stored as an
// index plus 1 in processTables; 0 means none.
type processRecord struct {
	rank, pid                int
	host, state              int32
	kind                     int32
	placement, usage, losses int32
	wall, application        float64
	threads, mpi, mpiError   float64
	share                    float64
	lifetimesUnknown         bool
	initEnd                  int64
	activities               Activities
	constructors             uint64 // ns
	sessions                 sessionTimes
	start                    int64
	clocks                   profile.ClockCheck
	cores                    coreFacts
}

// processTables holds what processes have in common, and what few have.
type processTables struct {
	texts      indexed[string]
	kinds      indexed[processKind]
	placements indexed[profile.Placement]
	usages     []profile.Usage
	losses     []profile.Losses
}

// indexed numbers different values, from 1.
type indexed[T comparable] struct {
	values []*T
	index  map[T]int32
	last   int32 // that of the last call
}

func (x *indexed[T]) of(v T) int32 {
	if x.last > 0 && *x.values[x.last-1] == v {
		return x.last
	}
	i, known := x.index[v]
	if !known {
		if x.index == nil {
			x.index = map[T]int32{}
		}
		x.values = append(x.values, &v)
		i = int32(len(x.values))
		x.index[v] = i
	}
	x.last = i
	return i
}

func (s *processes) add(p *profile.Profile) {
	if n := len(s.added); n == 0 || len(s.added[n-1].records) == cap(s.added[n-1].records) {
		tables := new(processTables)
		if n > 0 {
			tables = s.added[n-1].processTables
		}
		s.added = append(s.added, processChunk{tables, make([]processRecord, 0, processesInChunk)})
	}
	last := &s.added[len(s.added)-1]
	last.records = append(last.records, last.recordOf(p))
	s.n++
}

func (x *processTables) recordOf(p *profile.Profile) processRecord {
	t, kind := timesOf(p), kindOf(p)
	out := processRecord{rank: t.Rank, pid: t.Pid, host: x.texts.of(t.Host), state: x.texts.of(t.State), kind: x.kinds.of(kind),
		wall: t.WallTimeS, application: t.ApplicationTimeS, threads: t.ThreadTimeS, lifetimesUnknown: t.LifetimesUnknown, initEnd: t.InitEnd, mpi: t.MPITimeS, mpiError: t.MPITimeErrorS, share: t.MPIShare,
		activities: t.Activities, constructors: t.ConstructorsNs, sessions: t.LaterSessions, start: p.Start, clocks: p.Clocks, cores: coreFactsOf(p, 1e9*t.MPITimeS)}
	if p.Placement != nil {
		out.placement = x.placements.of(*p.Placement)
	}
	if usage, known := profile.TotalUsage(p.Usage); known {
		x.usages = append(x.usages, usage)
		out.usage = int32(len(x.usages))
	}
	if p.Losses.Any() {
		x.losses = append(x.losses, p.Losses)
		out.losses = int32(len(x.losses))
	}
	return out
}

// process returns the process of a record.
func (x *processTables) process(r *processRecord) (RankTimes, processFacts) {
	p := processFacts{processKind: x.kinds.values[r.kind-1], start: r.start, clocks: r.clocks}
	t := RankTimes{Rank: r.rank, Host: *x.texts.values[r.host-1], Pid: r.pid, State: *x.texts.values[r.state-1],
		WallTimeS: r.wall, ApplicationTimeS: r.application, ThreadTimeS: r.threads, LifetimesUnknown: r.lifetimesUnknown, InitEnd: r.initEnd, MPITimeS: r.mpi, MPITimeErrorS: r.mpiError, MPIShare: r.share,
		Timing: p.timing, Activities: r.activities, ConstructorsNs: r.constructors, LaterSessions: r.sessions}
	if r.placement > 0 {
		t.Placement = x.placements.values[r.placement-1]
	}
	if cores := r.cores; r.usage > 0 {
		p.usage = &x.usages[r.usage-1]
		t.Cores = cores.cores(&t)
		on := profile.PlacedProcess{Usage: *p.usage}
		if c := t.Cores; c.NoCore != nil {
			on.NoCore = &profile.NoCore{Share: *c.NoCore, AtLeast: c.NoCoreAtLeast}
		}
		t.CPU = profile.CPUShareOf([]profile.PlacedProcess{on})
	}
	if r.losses > 0 {
		p.losses = &x.losses[r.losses-1]
	}
	return t, p
}

// merge adds the processes of o, which must not be used afterwards.
func (s *processes) merge(o *processes) {
	s.added = append(s.added, o.added...)
	s.times, s.list = append(s.times, o.times...), append(s.list, o.list...)
	s.unordered = s.unordered || len(o.list) > 0
	s.n += o.n
}

// ordered returns the processes by rank, then by start.
func (s *processes) ordered() []processFacts {
	if len(s.added) == 0 && !s.unordered {
		return s.list
	}
	s.unordered = false
	times, list := make([]RankTimes, 0, s.n), make([]processFacts, 0, s.n)
	times, list = append(times, s.times...), append(list, s.list...)
	s.times, s.list = nil, nil
	for i := range s.added {
		for k := range s.added[i].records {
			t, p := s.added[i].process(&s.added[i].records[k])
			times, list = append(times, t), append(list, p)
		}
		s.added[i] = processChunk{}
	}
	s.added = nil
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, k int32) int {
		a, b := &times[i], &times[k]
		return cmp.Or(
			cmp.Compare(a.Rank, b.Rank),
			cmp.Compare(list[i].start, list[k].start),
			cmp.Compare(a.Host, b.Host),
			cmp.Compare(a.Pid, b.Pid))
	})
	permute(order, func(i, k int32) {
		times[i], times[k] = times[k], times[i]
		list[i], list[k] = list[k], list[i]
	})
	for i := range list {
		list[i].RankTimes = &times[i]
	}
	s.times, s.list = times, list
	return list
}

// permute swaps elements until that of index order[i] is at i, for all i. It changes order.
func permute(order []int32, swap func(i, k int32)) {
	for i := range order {
		at := int32(i)
		for int(order[at]) != i {
			from := order[at]
			swap(at, from)
			order[at], at = at, from
		}
		order[at] = at
	}
}

// RankTimes holds where a process ran, how it ended, and its times.
type RankTimes struct {
	Rank             int     `json:"rank"`
	Host             string  `json:"host"`
	Pid              int     `json:"pid"`
	State            string  `json:"state"`
	WallTimeS        float64 `json:"wall_time_s"`
	ApplicationTimeS float64 `json:"application_time_s"`
	ThreadTimeS      float64 `json:"thread_time_s"`    // of which MPITimeS is a share, see profile.Times
	MPITimeS         float64 `json:"mpi_time_s"`       // summed over threads
	MPITimeErrorS    float64 `json:"mpi_time_error_s"` // standard error if MPITimeS is an estimate, otherwise 0
	MPIShare         float64 `json:"mpi_share"`        // of ThreadTimeS
	Timing           string  `json:"timing"`           // name of a profile.Timing

	// Activities are summed over threads. profile.InSetUp has that of later sessions only.
	Activities Activities `json:"time_by_activity_ns"`
	// ConstructorsNs is the time in constructors, see profile.MakesObject, and in the calls that open
	// and close later sessions, summed over threads.
	ConstructorsNs uint64 `json:"constructors_ns"`

	LifetimesUnknown bool         `json:"lifetimes_unknown,omitempty"` // see profile.Times
	InitEnd          int64        `json:"-"`                           // Unix ns, 0 if not known
	LaterSessions    sessionTimes `json:"-"`

	Placement *profile.Placement `json:"placement,omitempty"` // nil if not known
	CPU       *profile.CPUShare  `json:"cpu,omitempty"`       // nil if not known
	Cores     *RankCores         `json:"cores,omitempty"`     // nil if not known
}

// Activities is the time in calls by profile.Activity, in ns. Outside is 0: see
// RankTimes.UsefulNs.
type Activities [profile.NumActivities]uint64

// MarshalJSON returns an object of the times that are not 0, by the name of the activity.
func (a Activities) MarshalJSON() ([]byte, error) {
	byName := map[string]uint64{}
	for i, ns := range a {
		if ns > 0 {
			byName[profile.Activity(i).String()] = ns
		}
	}
	return json.Marshal(byName)
}

// UnmarshalJSON is the inverse of MarshalJSON. It ignores unknown activities.
func (a *Activities) UnmarshalJSON(data []byte) error {
	var byName map[string]uint64
	if err := json.Unmarshal(data, &byName); err != nil {
		return err
	}
	*a = Activities{}
	for name, ns := range byName {
		if i, known := profile.ParseActivity(name); known {
			a[i] = ns
		}
	}
	return nil
}

// kindOf returns what the process has in common with others.
func kindOf(p *profile.Profile) processKind {
	return processKind{size: p.Size, program: p.Name(), library: p.LibraryLine(), executable: programKeyOf(p),
		command: strings.Join(p.Command, "\x00"), unfollowed: p.Unfollowed, settings: settingsLine(p),
		watched: watchedFor(p), timing: p.Timing.String(), threads: p.Threads, unseen: unseenTexts(p),
		alone: p.Alone, messages: strings.Join(p.Messages, "\x00")}
}

// programKey identifies the program of a process.
type programKey struct {
	name  string // file name; the path of a script, or of an executable whose build is not known
	build string
}

func programKeyOf(p *profile.Profile) programKey {
	k := programKey{p.Name(), p.BuildID()}
	if k.build != "" && k.name == p.Program { // a file may have different paths on different nodes
		k.name = filepath.Base(k.name)
	}
	return k
}

// shared returns s in memory that all equal strings share.
func shared(s string) string { return unique.Make(s).Value() }

func (j *Job) ordered() []processFacts { return j.processes.ordered() }

func timesOf(p *profile.Profile) RankTimes {
	var inMPI Totals
	var activities Activities
	constructors := uint64(0)
	var opens, closes Totals
	times := p.Times()
	ownShare := times.OwnShare()
	for i := range p.Rows {
		switch r := &p.Rows[i]; {
		case profile.SetsUp(r.Call) && profile.TraitsOf(r.Call).Any(profile.TraitInitializes):
			opens.add(r, ownShare)
		case profile.SetsUp(r.Call):
			closes.add(r, ownShare)
		default:
			inMPI.add(r, ownShare)
			activities[profile.ActivityOf(r.Call, r.Class)] += r.TimeNs
			if profile.MakesObject(r.Call) {
				constructors += r.TimeNs
			}
		}
	}
	sessions := sessionTimes{laterThan(p.InitEnd-p.Start, &opens), laterThan(p.End-p.FinalizeStart, &closes)}
	inMPI.TimeNs += sessions.sum()
	activities[profile.InSetUp] += sessions.sum()
	constructors += sessions.sum()
	t := RankTimes{Rank: p.Rank, Host: p.Host, Pid: p.Pid, State: p.State.String(), Timing: p.Timing.String(),
		Activities: activities, ConstructorsNs: constructors, LaterSessions: sessions, MPITimeS: seconds(inMPI.TimeNs), MPITimeErrorS: inMPI.TimeVariance.StandardError() / 1e9}
	t.WallTimeS = elapsed(p.Start, max(p.End, p.FinalizeStart, p.InitEnd))
	t.InitEnd, t.LifetimesUnknown = p.InitEnd, times.LifetimesUnknown()
	if t.setOwn(times); t.ThreadTimeS > 0 {
		t.MPIShare = t.MPITimeS / t.ThreadTimeS
	}
	if p.State == profile.Finalized {
		t.MPIShare = min(t.MPIShare, 1) // an estimate may be more
	}
	return t
}

// sessionTimes are the times of the calls that begin and end the use of MPI within the process's own
// time: of several sessions, all but the first Session_init and the last Session_finalize.
type sessionTimes struct{ OpensNs, ClosesNs uint64 }

func (s sessionTimes) sum() uint64 { return s.OpensNs + s.ClosesNs }

// laterThan returns the time of calls beyond that of the outermost one, in ns.
func laterThan(outermost int64, calls *Totals) uint64 {
	if calls.Calls < 2 {
		return 0
	}
	return calls.TimeNs - min(calls.TimeNs, uint64(max(outermost, 0)))
}

// setOwn sets the application time and the time of the threads, if they are known.
func (t *RankTimes) setOwn(times profile.Times) {
	if own, _ := times.Application(); own > 0 {
		t.ApplicationTimeS, t.ThreadTimeS = float64(own)/1e9, float64(times.OfThreads())/1e9
	}
}

// OwnShare returns the application time as a share of the threads' time, see profile.Times.
func (t *RankTimes) OwnShare() float64 {
	if t.ThreadTimeS == 0 || t.ThreadTimeS == t.ApplicationTimeS {
		return 1
	}
	return t.ApplicationTimeS / t.ThreadTimeS
}

// ShareKnown reports whether MPIShare is meaningful. It is not if no call was timed, if the rank
// never left MPI_Init, or if the rank did not finalize and its calls took longer than the time up
// to its last known moment.
func (t *RankTimes) ShareKnown() bool {
	return t.Timed() && t.ApplicationTimeS > 0 && (t.State == profile.Finalized.String() || t.MPIShare <= 1)
}

// elapsed returns the seconds between two times in Unix ns; 0 if either is not
// known.
func elapsed(from, to int64) float64 {
	if from == 0 || to <= from {
		return 0
	}
	return float64(to-from) / 1e9
}

func seconds(ns uint64) float64 { return float64(ns) / 1e9 }

// Package aggregate adds up the profiles of the processes of an MPI job. A Job
// takes them one after the other and returns a Summary, a RankSummary, the
// matrices (package matrix) or, with a second job, a Diff. The memory that a
// Job needs depends on the size of these results, not on the number of rows
// that it has read.
//
// Merging is associative, and no result depends on the order of the processes.
package aggregate

import (
	"cmp"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// Job holds the sums over the processes of an MPI job: the processes that share
// one MPI_COMM_WORLD. Parts of a job can be added up separately and merged.
type Job struct {
	Run string // name that the launcher gives the run; empty if not known
	matrix.Ranks

	processes    processes
	builder      *matrix.Builder
	matrices     *matrix.ByClass // set by Matrices
	exchange     exchange
	completeness completeness
	calls        callSums
	sizes        sizeSums
	slices       sliceSums
	sites        siteSums
	allWait      waitingSums
	ends         endings
	variables    variableSums
	settingsOf   settingSums // settings of mpitrace
	physical     physicalSums
	pvars        pvarSums
	late         lateReceiveSums
	comms        communicatorSums
	details      pairDetails

	options Options
	kept    []*profile.Profile // profiles of the ranks for which Options.Keep returns true
}

// Options control what a Job does in addition to adding up. The zero value adds
// nothing.
type Options struct {
	// Keep reports whether RankSummary can be called for a rank. The profiles
	// of these ranks stay in memory.
	Keep func(rank int) bool
	// MustAgree are the settings that must have the same value on all ranks. Problems
	// reports those that do not.
	MustAgree []RecordedSetting
	// PairDetails is the largest number of pairs for which Job.PairDetails returns
	// something. 0 collects nothing.
	PairDetails int
	// Scratch is where sums of pairs go that do not fit into its budget of memory; nil keeps
	// all in memory.
	Scratch *matrix.Scratch
	// DetailOf reports whether Job.PairDetails includes a pair; nil for all pairs.
	DetailOf func(matrix.Pair) bool
}

// NewJob returns a job without processes.
func NewJob(o Options) *Job {
	j := &Job{builder: matrix.NewBuilder(nil), options: o, completeness: newCompleteness(), sites: newSiteSums(),
		variables: variableSums{}, settingsOf: settingSums{}, details: pairDetails{most: o.PairDetails, only: o.DetailOf}}
	j.builder.Spill(o.Scratch)
	j.exchange.received.Spill(o.Scratch)
	return j
}

// New returns the job of some profiles, even if their run names differ. It
// unifies their communicators (profile.Unify). RankSummary can be called for
// all ranks.
func New(profiles []*profile.Profile) *Job {
	profile.Unify(profiles)
	return ofKept(profiles)
}

func ofKept(profiles []*profile.Profile) *Job {
	j, _ := Of(profile.List(profiles), Options{Keep: func(int) bool { return true }}) // List returns no error of its own
	return j
}

// Of returns the job of all profiles of a source. If the source can be read by several
// goroutines, it adds up as many parts of the job at a time as there are processors.
func Of(src profile.Source, o Options) (*Job, error) {
	several, ok := src.(profile.Parts)
	if !ok {
		j := NewJob(o)
		err := src.Each(func(p *profile.Profile) error { j.Add(p); return nil })
		return j, err
	}
	parts := make([]*Job, runtime.GOMAXPROCS(0))
	for i := range parts {
		parts[i] = NewJob(o)
	}
	err := several.EachPart(len(parts), func(part int, p *profile.Profile) error {
		if o.Keep != nil && o.Keep(p.Rank) {
			own := *p
			own.Rows = slices.Clone(p.Rows)
			p = &own
		}
		parts[part].Add(p)
		return nil
	})
	for _, part := range parts[1:] {
		parts[0].Merge(part)
	}
	if err == nil {
		err = parts[0].Err()
	}
	return parts[0], err
}

// Err returns an error if sums of pairs could not be kept in Options.Scratch. Then the
// results of the job are not valid.
func (j *Job) Err() error { return j.options.Scratch.Err() }

// Add adds a process. The communicators of all processes must have been unified
// (profile.Unify).
func (j *Job) Add(p *profile.Profile) {
	j.Run = min(cmp.Or(j.Run, p.Run), cmp.Or(p.Run, j.Run))
	j.Ranks.Add(p)
	j.processes.add(p)
	j.builder.Add(p)
	j.exchange.add(p)
	j.completeness.add(p)
	j.calls.add(p)
	j.sizes.add(p)
	j.slices.add(p)
	j.sites.add(p)
	j.allWait.add(p, &j.sites)
	j.ends.add(p)
	j.variables.add(p)
	j.settingsOf.add(p)
	j.physical.add(p)
	j.pvars.add(p)
	j.late.add(p)
	j.comms.add(p)
	j.details.add(p)
	if j.options.Keep != nil && j.options.Keep(p.Rank) {
		j.kept = append(j.kept, p)
	}
}

// Merge adds the processes of o, which must not be used afterwards.
func (j *Job) Merge(o *Job) {
	j.Run = min(cmp.Or(j.Run, o.Run), cmp.Or(o.Run, j.Run))
	j.Ranks.Merge(&o.Ranks)
	j.processes.merge(&o.processes)
	j.builder.Merge(o.builder)
	j.exchange.merge(&o.exchange)
	j.completeness.merge(&o.completeness)
	j.calls.merge(&o.calls)
	j.sizes.merge(&o.sizes.sumsBy)
	j.slices.merge(&o.slices.sumsBy)
	j.sites.merge(&o.sites.sumsBy)
	j.allWait.merge(&o.allWait.sumsBy)
	j.ends.merge(&o.ends)
	j.variables.merge(o.variables)
	j.settingsOf.merge(o.settingsOf)
	j.physical.merge(&o.physical)
	j.pvars.merge(&o.pvars.sumsBy)
	j.late.merge(&o.late.sumsBy)
	j.comms.merge(&o.comms.byObject)
	j.details.merge(&o.details)
	j.kept = append(j.kept, o.kept...)
}

// programOf returns the file name of the executable; if there are several, that of the
// lowest rank.
func programOf(ps []processFacts) string {
	for _, p := range ps {
		if p.program != "" {
			return filepath.Base(p.program)
		}
	}
	return "mpi"
}

// Start returns when the first process began to record, in Unix ns; 0 if that is not
// known for any process.
func (j *Job) Start() int64 {
	start := int64(0)
	for _, p := range j.ordered() {
		if p.start != 0 && (start == 0 || p.start < start) {
			start = p.start
		}
	}
	return start
}

// Processes returns the number of recordings.
func (j *Job) Processes() int { return j.processes.n }

// Matrices returns the matrices of the job. Nothing may be added to the job afterwards.
func (j *Job) Matrices() *matrix.ByClass {
	if j.matrices == nil {
		j.matrices = j.builder.Matrices()
	}
	return j.matrices
}

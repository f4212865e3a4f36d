// Package aggregate puts together what the processes of an MPI job recorded:
// profiles, one after the other, into a Job, and a Job into matrices and
// summaries. What a Job takes depends on what there is to tell, not on how much
// was read.
//
// Merging is associative, and no result depends on the order in which
// processes are given.
package aggregate

import (
	"cmp"
	"path/filepath"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// Job is an MPI job, the processes of one MPI_COMM_WORLD, added up. Its parts
// can be added up apart, and merged.
type Job struct {
	Run string // as the launcher names it; empty if not known

	ranks        matrix.Ranks
	processes    []process
	builder      *matrix.Builder
	exchange     exchange
	completeness completeness
	calls        callSums
	sizes        sizeSums
	slices       sliceSums
	sites        siteSums
	ends         endings
	variables    variableSums
	settingsOf   settingSums // of mpitrace
	physical     physicalSums
	pvars        pvarSums
	late         lateReceiveSums

	options Options
	kept    []*profile.Profile // of the ranks that Options.Keep reports
}

// Options says what a Job does beyond adding up. The zero value is fine.
type Options struct {
	// Keep reports the ranks that RankSummary can be called for. Their profiles stay
	// in memory.
	Keep func(rank int) bool
	// MustAgree are the settings that must have the same value on all ranks. Problems
	// reports those that do not.
	MustAgree []Setting
}

// NewJob returns a job without processes.
func NewJob(o Options) *Job { return &Job{builder: matrix.NewBuilder(nil), options: o} }

// New makes one job of profiles, whatever run they say that they are of. Their
// communicators are unified (profile.Unify).
func New(profiles []*profile.Profile) *Job {
	profile.Unify(profiles)
	return ofKept(profiles)
}

func ofKept(profiles []*profile.Profile) *Job {
	j := NewJob(Options{Keep: func(int) bool { return true }})
	for _, p := range profiles {
		j.Add(p)
	}
	return j
}

// Of makes the job of all profiles that a source gives.
func Of(src profile.Source, o Options) (*Job, error) {
	j := NewJob(o)
	err := src.Each(func(p *profile.Profile) error { j.Add(p); return nil })
	return j, err
}

// Add adds a process. The communicators of all that are added must be unified
// (profile.Unify).
func (j *Job) Add(p *profile.Profile) {
	j.Run = min(cmp.Or(j.Run, p.Run), cmp.Or(p.Run, j.Run))
	j.ranks.Add(p)
	j.processes = append(j.processes, processOf(p))
	j.builder.Add(p)
	j.exchange.add(p)
	j.completeness.add(p)
	j.calls.add(p)
	j.sizes.add(p)
	j.slices.add(p)
	j.sites.add(p)
	j.ends.add(p)
	j.variables.add(p)
	j.settingsOf.add(p)
	j.physical.add(p)
	j.pvars.add(p)
	j.late.add(p)
	if j.options.Keep != nil && j.options.Keep(p.Rank) {
		j.kept = append(j.kept, p)
	}
}

// Merge adds the processes of o.
func (j *Job) Merge(o *Job) {
	j.Run = min(cmp.Or(j.Run, o.Run), cmp.Or(o.Run, j.Run))
	j.ranks.Merge(&o.ranks)
	j.processes = append(j.processes, o.processes...)
	j.builder.Merge(o.builder)
	j.exchange.merge(&o.exchange)
	j.completeness.merge(&o.completeness)
	j.calls.merge(&o.calls)
	j.sizes.merge(&o.sizes)
	j.slices.merge(&o.slices)
	j.sites.merge(&o.sites)
	j.ends.merge(&o.ends)
	j.variables.merge(o.variables)
	j.settingsOf.merge(o.settingsOf)
	j.physical.merge(&o.physical)
	j.pvars.merge(&o.pvars)
	j.late.merge(&o.late)
	j.kept = append(j.kept, o.kept...)
}

// programOf is the file name of the executable, that of the lowest rank where
// processes run several.
func programOf(ps []process) string {
	for _, p := range ps {
		if p.program != "" {
			return filepath.Base(p.program)
		}
	}
	return "mpi"
}

// Start is when the first process of which it is known began to record, in Unix
// ns; 0 if it is known of none.
func (j *Job) Start() int64 {
	start := int64(0)
	for _, p := range j.processes {
		if p.start != 0 && (start == 0 || p.start < start) {
			start = p.start
		}
	}
	return start
}

// Size is the number of processes of the job: that of MPI_COMM_WORLD where it
// is known, and at least what the largest rank seen asks for.
func (j *Job) Size() int { return j.ranks.Size() }

// Recorded lists the ranks that something was recorded of, each once.
func (j *Job) Recorded() []int { return j.ranks.Recorded() }

// Duplicated lists the ranks that several recordings are of: a sign that they
// are of several runs.
func (j *Job) Duplicated() []int { return j.ranks.Duplicated() }

// Missing are the ranks of the job that nothing was recorded of.
func (j *Job) Missing() profile.RankSet { return j.ranks.Missing() }

// Processes is how many recordings there are.
func (j *Job) Processes() int { return len(j.processes) }

// Matrices are what the processes sent, by class and pair. Nothing is to be
// added to the job after that.
func (j *Job) Matrices() *matrix.ByClass { return j.builder.Matrices() }

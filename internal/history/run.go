package history

import (
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
)

// PastRun is a job of a recorded run.
type PastRun struct {
	Dir       string       `json:"run"`
	Job       int          `json:"job"`       // its number in the run, from 1
	Jobs      int          `json:"jobs"`      // number of jobs of the run
	Program   string       `json:"program"`   // of several: their names
	Arguments []string     `json:"arguments"` // of the program, without its name; of several, separated by colons
	Ranks     int          `json:"ranks"`
	Programs  PastPrograms `json:"programs"`
	Version
	Started time.Time `json:"started"`
	Timing  string    `json:"timing"`

	WallTimeS float64        `json:"wall_time_s"`
	MPITimeS  float64        `json:"mpi_time_s"` // summed over threads
	MPIShare  *float64       `json:"mpi_share"`  // mean over ranks; null if calls were not timed
	POP       *aggregate.POP `json:"pop"`        // as in a Summary
	Bytes     uint64         `json:"bytes"`      // sent; each message once
	Messages  uint64         `json:"messages"`
	Findings  []NotedFinding `json:"findings"`

	Complete bool     `json:"complete"`
	Problems []string `json:"problems"` // why the record is not complete
	// Compared is false if a rank did not finalize: such a run did not do all of its
	// work, and is in the table only.
	Compared bool `json:"compared"`

	calls []aggregate.CallTotals
	sites []aggregate.CallSite
}

// NotedFinding is a finding of package findings.
type NotedFinding struct {
	Rule      string  `json:"rule"`
	Share     float64 `json:"share"`
	OfTime    bool    `json:"of_time"` // whether it is about time
	Call      string  `json:"call,omitempty"`
	Callsite  string  `json:"callsite,omitempty"`
	Text      string  `json:"text"`
	Uncertain string  `json:"uncertain,omitempty"`
}

// mostSites is the largest number of call sites that are kept of a run: those with
// the most time. A call site that takes 1 % of the time is always among them.
const mostSites = 300

// RunOf reads a job.
func RunOf(src profile.Source, o aggregate.Options) (*PastRun, *aggregate.Summary, error) {
	job, err := aggregate.Of(src, o)
	if err != nil {
		return nil, nil, err
	}
	s := job.Summary()
	r := &PastRun{Job: 1, Jobs: 1, Ranks: s.RanksExpected, Version: Version{Library: profile.LibraryName(s.Library)}, Programs: pastPrograms(s.Programs),
		Started: s.Started, Timing: s.Timing, WallTimeS: s.WallTimeS, MPITimeS: s.MPITimeS, POP: s.POP, Findings: []NotedFinding{},
		Complete: len(s.Problems) == 0, Problems: append([]string{}, s.Problems...),
		Compared: s.RanksFinalized == s.RanksExpected}
	r.Program, r.Arguments, r.BuildID = r.Programs.names(), r.Programs.arguments(), r.Programs.builds()
	if s.Timed() {
		r.MPIShare = new(s.MPIShare.Mean)
	}
	for _, c := range s.Classes {
		r.Bytes += c.Bytes
		r.Messages += c.Messages
	}
	for _, c := range s.Calls {
		if !profile.SetsUp(c.Call) {
			r.calls = append(r.calls, c)
		}
	}
	r.sites = sitesOf(s)
	return r, s, nil
}

// sitesOf returns the call sites with the most time, except those of calls that are not compared.
func sitesOf(s *aggregate.Summary) (out []aggregate.CallSite) {
	for _, c := range s.CallSites {
		if len(out) == mostSites {
			break
		}
		if !profile.SetsUp(c.Call) {
			out = append(out, aggregate.CallSite{Site: c.Site, Call: c.Call, Totals: c.Totals, Sent: c.Sent, Received: c.Received})
		}
	}
	return out
}

// totalNs returns ranks × run time; 0 if that is not known.
func (r *PastRun) totalNs() float64 {
	if r.POP == nil {
		return 0
	}
	return r.POP.RuntimeNs * float64(r.POP.Ranks)
}

// inMPINs returns the part of the ranks' own time that was spent in MPI.
func (r *PastRun) inMPINs() (sum float64) {
	for i := range r.calls {
		sum += float64(r.calls[i].OwnNs)
	}
	return sum
}

// usefulNs returns the time of all ranks outside MPI; 0 if that is not known.
func (r *PastRun) usefulNs() float64 {
	if r.POP == nil {
		return 0
	}
	return r.POP.UsefulMeanNs * float64(r.POP.Ranks)
}

// siteKey identifies a call site within a version of a program.
func siteKey(c *aggregate.CallSite) string { return c.Call + "\x00" + c.Program + "\x00" + c.String() }

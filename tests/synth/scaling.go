package synth

import (
	"fmt"
	"math"
)

// Growth is a call site whose time per rank is Ns × ranks^Exponent.
type Growth struct {
	Call     string // a collective, without MPI_
	Line     int    // of app.c: the call site is "step app.c:LINE"
	Ns       float64
	Exponent float64
}

// TimePerRank returns the time of each rank at the call site, in ns.
func (g Growth) TimePerRank(ranks int) uint64 {
	return uint64(math.Round(g.Ns * math.Pow(float64(ranks), g.Exponent)))
}

// Scaling describes the runs of a program on different numbers of ranks. On each,
// every rank takes as long: it computes Useful.TimePerRank and calls at each site. The
// arguments of the program are the same on any number.
type Scaling struct {
	Name    string // of the program
	Version string // build-id of the program; a default if empty
	Useful  Growth // time outside MPI
	Sites   []Growth
	Start   int64 // ns after the start of other jobs; runs can be in order of time
}

// Job returns the job on a number of ranks.
func (s *Scaling) Job(ranks int) *Job {
	j := New(s.Name, ranks)
	j.Fault = &Fault{Name: "scaling", plant: func(b *rows) {
		b.Command = []string{s.Name, "--steps", "100"}
		b.Run = fmt.Sprintf("%s-%d-%d", s.Name, ranks, s.Start)
		if s.Version != "" {
			b.Modules[0].BuildID = s.Version
		}
		inMPI := uint64(0)
		for _, g := range s.Sites {
			inMPI += g.TimePerRank(ranks)
			b.all(g.Line, g.TimePerRank(ranks), g.Call, 100, 8)
		}
		b.InitEnd = initDone + s.Start // of all ranks, so that the run takes as long as each of them
		b.Start = b.InitEnd - initTime
		b.Slices[0].Start = b.Start
		b.FinalizeStart = b.InitEnd + int64(s.Useful.TimePerRank(ranks)+inMPI)
	}}
	return j
}

// Efficiencies returns what POP's definitions give, relative to a first number of
// ranks.
func (s *Scaling) Efficiencies(first, ranks int) (parallel, computation float64) {
	useful, inMPI := float64(s.Useful.TimePerRank(ranks)), 0.0
	for _, g := range s.Sites {
		inMPI += float64(g.TimePerRank(ranks))
	}
	return useful / (useful + inMPI), float64(first) * float64(s.Useful.TimePerRank(first)) / (float64(ranks) * useful)
}

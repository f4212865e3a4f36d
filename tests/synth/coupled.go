package synth

import (
	"fmt"
	"slices"
	"time"
)

// Model is a program of a coupled job.
type Model struct {
	Name      string
	Build     string // build-id; a default if empty
	Arguments []string
	Useful    []time.Duration // time outside MPI of each of its ranks
	Bytes     uint64          // of a message of its Allreduces, to each other rank of the job
}

// CoupledRuntime is the time of each rank of a coupled job from the end of MPI_Init to the begin of
// MPI_Finalize.
const CoupledRuntime = time.Second

// CoupledCalls is the number of Allreduces of each rank.
const CoupledCalls = 50

// Lines of app.c that call MPI in a coupled job. All models call at the same lines.
const (
	ModelLine   = 10 // Allreduce of the ranks of a model: they wait for the one that computes longest
	CouplerLine = 20 // Barrier of all ranks: they wait for the end of the run
)

// Coupled returns a job of several programs: the first has the lowest ranks. No rank of a model
// computes longer than CoupledRuntime.
func Coupled(models ...Model) *Job {
	var of []*Model // by rank
	var useful []time.Duration
	for i := range models {
		for _, u := range models[i].Useful {
			of, useful = append(of, &models[i]), append(useful, u)
		}
	}
	j := New("coupled", len(of))
	j.Fault = &Fault{Name: "coupled", plant: func(b *rows) {
		m := of[b.rank]
		b.Program, b.Command = "/opt/synth/bin/"+m.Name, append([]string{m.Name}, m.Arguments...)
		b.Run = fmt.Sprint("coupled-", models)
		b.Modules[0].Path = b.Program
		if m.Build != "" {
			b.Modules[0].BuildID = m.Build
		}
		longest := slices.Max(m.Useful)
		b.all(ModelLine, uint64(longest-useful[b.rank]), "Allreduce", CoupledCalls, m.Bytes)
		b.all(CouplerLine, uint64(CoupledRuntime-longest), "Barrier", 10, 0)
		b.InitEnd = initDone // of all ranks, so that the run takes as long as each of them
		b.Start = b.InitEnd - initTime
		b.Slices[0].Start = b.Start
		b.FinalizeStart = b.InitEnd + int64(CoupledRuntime)
	}}
	return j
}

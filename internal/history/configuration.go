package history

import (
	"cmp"
	"encoding/json"
	"slices"
)

// RepeatedValue is a number over the repetitions of a configuration.
//
// Its spread is the largest minus the smallest value. Most configurations are run
// a few times; with three to five values, quartiles and the median absolute
// deviation depend on one or two of them and are often 0 by accident, whereas max
// - min uses all. An outlier makes the spread larger, so that less is called a
// change: the error is on the safe side.
type RepeatedValue struct {
	Runs   int     `json:"runs"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// quantityOf returns the RepeatedValue of at least one value.
func quantityOf(values []float64) RepeatedValue {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return RepeatedValue{n, (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[0], sorted[n-1]}
}

// Spread returns max - min. known is false if there was one run only.
func (q RepeatedValue) Spread() (spread float64, known bool) { return q.Max - q.Min, q.Runs > 1 }

// MarshalJSON adds the spread, which is null if it is not known.
func (q RepeatedValue) MarshalJSON() ([]byte, error) {
	type plain RepeatedValue
	out := struct {
		plain
		Spread *float64 `json:"spread"`
	}{plain: plain(q)}
	if spread, known := q.Spread(); known {
		out.Spread = &spread
	}
	return json.Marshal(out)
}

// Configuration is the runs of a program with the same version, arguments and number of ranks:
// repetitions of each other. Runs that did not finalize are not among them.
type Configuration struct {
	Program   string       `json:"program"`
	Arguments []string     `json:"arguments"`
	Ranks     int          `json:"ranks"`
	Programs  PastPrograms `json:"programs"`
	Version
	Runs  []int `json:"runs"` // indices in History.Runs, in the order of their start
	Timed bool  `json:"timed"`

	WallTimeS RepeatedValue `json:"wall_time_s"`
	Bytes     RepeatedValue `json:"bytes"`
	// The following are null if the times of a run are not known.
	MPIShare                *RepeatedValue `json:"mpi_share"`
	ParallelEfficiency      *RepeatedValue `json:"parallel_efficiency"`
	LoadBalance             *RepeatedValue `json:"load_balance"`
	CommunicationEfficiency *RepeatedValue `json:"communication_efficiency"`

	runs []*PastRun
}

// configurationsOf groups sorted runs.
func configurationsOf(runs []*PastRun) []Configuration {
	out := []Configuration{}
	for i, r := range runs {
		if !r.Compared {
			continue
		}
		if n := len(out); n == 0 || out[n-1].runs[0].key() != r.key() {
			out = append(out, Configuration{Program: r.Program, Arguments: r.Arguments, Ranks: r.Ranks, Programs: r.Programs, Version: r.Version})
		}
		c := &out[len(out)-1]
		c.Runs, c.runs = append(c.Runs, i), append(c.runs, r)
	}
	for i := range out {
		out[i].measure()
	}
	return out
}

func (c *Configuration) measure() {
	c.Timed = !slices.ContainsFunc(c.runs, func(r *PastRun) bool { return r.POP == nil || r.MPIShare == nil })
	c.WallTimeS = c.of(func(r *PastRun) float64 { return r.WallTimeS })
	c.Bytes = c.of(func(r *PastRun) float64 { return float64(r.Bytes) })
	if !c.Timed {
		return
	}
	c.MPIShare = new(c.of(func(r *PastRun) float64 { return *r.MPIShare }))
	c.ParallelEfficiency = new(c.of(func(r *PastRun) float64 { return r.POP.ParallelEfficiency }))
	c.LoadBalance = new(c.of(func(r *PastRun) float64 { return r.POP.LoadBalance }))
	c.CommunicationEfficiency = new(c.of(func(r *PastRun) float64 { return r.POP.CommunicationEfficiency }))
}

// of returns a quantity over the repetitions.
func (c *Configuration) of(value func(*PastRun) float64) RepeatedValue {
	values := make([]float64, len(c.runs))
	for i, r := range c.runs {
		values[i] = value(r)
	}
	return quantityOf(values)
}

// median returns the run with the median wall time. If the number of runs is even, it returns the
// shorter of the two in the middle.
func (c *Configuration) median() *PastRun {
	sorted := slices.SortedStableFunc(slices.Values(c.runs), func(a, b *PastRun) int { return cmp.Compare(a.WallTimeS, b.WallTimeS) })
	return sorted[(len(sorted)-1)/2]
}

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/readback"
)

// checkColumns requires that the tables of a run give the same matrices as its recordings,
// cell by cell, whatever is selected.
func checkColumns(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "profile.arrow")
	if _, err := os.Stat(path); err != nil {
		return // not merged
	}
	read, err := readback.Profiles(path)
	if err != nil {
		t.Error(err)
		return
	}
	if n := len(read); n > 0 && read[n-1].Untold != nil {
		if untold := strings.Join(read[n-1].Untold, "\n"); !strings.Contains(untold, "the neighbors") { // of fold.c: different graphs of one label
			t.Errorf("the tables do not tell: %s", untold)
		}
		return
	}
	recorded := inJobs(t, readRecordings(t, dir))
	for _, s := range selections(recorded) {
		diff(t, fmt.Sprintf("cells of the tables for %+v", s), cells(recorded, s), cells(read, s))
	}
}

// inJobs gives each job a name of its own: a launcher may have started several under one.
func inJobs(t *testing.T, ps []*profile.Profile) (out []*profile.Profile) {
	t.Helper()
	profile.Unify(ps)
	split, err := source.Split(profile.List(ps), source.Options{})
	if err == nil {
		err = split.Each(func(p *profile.Profile) error {
			out = append(out, p)
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// selections returns selections of everything, of each slice, of each communicator and of
// some classes.
func selections(ps []*profile.Profile) []matrix.Selection {
	out := []matrix.Selection{{}, {Received: true}, {SizeClasses: []uint8{0, 3, 5}}, {Classes: []profile.Class{profile.AllToAll}},
		{Directions: []profile.Direction{profile.Read}}}
	known := map[string]bool{}
	for _, p := range ps {
		for _, s := range p.Slices[:min(len(p.Slices), 4)] {
			if !known[s.Name] {
				known[s.Name] = true
				out = append(out, matrix.Selection{Slices: []string{s.Name}})
			}
		}
		for i := range p.Comms[:min(len(p.Comms), 6)] {
			if label := p.Comms[i].Label(); !known[label] {
				known[label] = true
				out = append(out, matrix.Selection{Comms: []string{label}})
			}
		}
	}
	return out
}

// cells returns all entries of the matrices, by job and class, and what is in none.
func cells(ps []*profile.Profile, s matrix.Selection) map[string]matrix.Volume {
	builders := map[string]*matrix.Builder{}
	for _, p := range ps {
		if builders[p.Run] == nil {
			builders[p.Run] = matrix.NewBuilder(&s)
		}
		builders[p.Run].Add(p)
	}
	out := map[string]matrix.Volume{}
	for run, b := range builders {
		ms := b.Matrices()
		for c := range ms {
			if matrix.TrafficClass(c) == matrix.Internal { // recordings do not have it
				continue
			}
			for p, v := range ms[c].Entries() {
				out[fmt.Sprintf("%s, %v: %d to %d", run, matrix.TrafficClass(c), p.From, p.To)] = v
			}
		}
		rows, placed := b.Placed(ms)
		out[run+", rows"], out[run+", placed"] = rows, placed
		out[run+", unsplit"] = matrix.Volume{Messages: b.Unsplit}
	}
	return out
}

package source

import (
	"cmp"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// Traffic is what the processes of a job sent to each other, with the prefix of
// the files that are made from it.
type Traffic struct {
	matrix.Ranks
	Builder      *matrix.Builder
	Prefix       string // path that the names of the files start with
	Program, Run string
	world        world  // MPI_COMM_WORLD of the files, if several were given
	worldOf      string // the file that world comes from
}

// TrafficReader reads the traffic of jobs from the paths that a user gives: a
// run directory, files of one run, or a prefix of such files.
type TrafficReader struct {
	Use       func(*Traffic) error   // called with each job after it was read
	Each      func(*profile.Profile) // called with each process of a job before Use; not with .prof files; may be nil
	Log       io.Writer
	Stdin     io.Reader
	Selection *matrix.Selection
	Scratch   *matrix.Scratch // for entries that do not fit into memory; nil keeps all in memory
	Hosts     bool            // whether the hosts of ranks are needed
	Damage    *DamageList     // errors of input that could not be read
	Warn      func(error)     // called with errors that do not prevent reading the traffic
}

// Read reads the jobs at the paths: one job, or several if a run directory or
// an Arrow file contains several or a prefix has several phases.
func (in *TrafficReader) Read(paths []string) error {
	o := Options{Log: in.Log, Stdin: in.Stdin, Traffic: true}
	if len(in.Selection.Callsites) > 0 {
		o.Depth = Whole
	}
	opened, err := Open(paths, o)
	if err != nil {
		return err
	}
	defer opened.Close()
	in.Damage.Add(opened.Damage()...)
	switch {
	case opened.flows.stream != nil:
		return in.loadStream(&opened.flows)
	case opened.flows.phases != nil:
		return in.loadPhases(opened.flows.phases)
	case len(opened.Jobs) == 0:
		return opened.ofCopy(opened.NoJob())
	case opened.several && len(opened.Jobs) > 1:
		return rundir.InputErrorf("the files are of different runs (%q and %q): make their matrices one by one",
			opened.Jobs[0].Run, opened.Jobs[1].Run)
	}
	err = in.jobs(opened)
	in.Damage.Add(opened.Damage()...)
	for i, damage := range in.Damage.Errors {
		if opened.copied != "" { // which the user does not know
			in.Damage.Errors[i] = errors.New(strings.ReplaceAll(damage.Error(), opened.copied, opened.flows.name))
		}
	}
	for _, err := range opened.Unnamed() {
		in.Warn(err)
	}
	return opened.ofCopy(err)
}

// jobs adds up the jobs of a run. If several files were given, it checks that they belong to
// one MPI_COMM_WORLD.
func (in *TrafficReader) jobs(opened *Run) error {
	for _, from := range opened.Jobs {
		j, err := in.add(from, opened.several)
		if err == nil {
			j.Prefix, j.Program, j.Run = filepath.Join(opened.base, from.Stem), cmp.Or(from.programs.String(), from.Stem), from.Run
			err = in.Use(j)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds up the traffic of a job, several parts of it at a time if the order does not
// matter.
func (in *TrafficReader) add(from *Job, together bool) (*Traffic, error) {
	parts := make([]*Traffic, runtime.GOMAXPROCS(0))
	read := from.EachPart
	if in.Each != nil || together {
		parts = parts[:1]
		read = func(_ int, f func(int, *profile.Profile) error) error {
			return from.Each(func(p *profile.Profile) error { return f(0, p) })
		}
	}
	for i := range parts {
		parts[i] = &Traffic{Builder: matrix.NewBuilder(in.Selection)}
		parts[i].Builder.Spill(in.Scratch)
	}
	var damage sync.Mutex
	err := read(len(parts), func(part int, p *profile.Profile) error {
		j := parts[part]
		if together && p.Size > 0 {
			if err := j.checkWorld(world{size: p.Size}, p.Source); err != nil {
				return err
			}
		}
		if len(p.Problems)+len(p.Lost) > 0 {
			damage.Lock()
			in.Damage.Add(damagesOf(p)...)
			damage.Unlock()
		}
		j.Add(p)
		j.Builder.Add(p)
		if in.Each != nil {
			in.Each(p)
		}
		return nil
	})
	for _, part := range parts[1:] {
		parts[0].Ranks.Merge(&part.Ranks)
		parts[0].Builder.Merge(part.Builder)
	}
	if err == nil {
		err = in.Scratch.Err()
	}
	return parts[0], err
}

// checkWorld returns an error if the world differs from that of the files before.
func (j *Traffic) checkWorld(w world, path string) error {
	if j.world == (world{}) {
		j.world, j.worldOf = w, path
	}
	if j.world != w {
		return differ(j.worldOf, j.world, path, w)
	}
	return nil
}

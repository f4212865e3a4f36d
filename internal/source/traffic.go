package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/recording"
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
	Scratch   *matrix.Scratch // where entries go that do not fit into memory; nil keeps all in memory
	Hosts     bool            // whether the hosts of ranks are needed
	Damage    *DamageList     // errors of input that could not be read
	Warn      func(error)     // called with errors that do not prevent reading the traffic
}

// Read reads the jobs at the paths: one job, or several if a run directory or
// an Arrow file contains several or a prefix has several phases.
func (in *TrafficReader) Read(paths []string) error {
	for _, path := range paths {
		if path == "-" {
			if len(paths) > 1 {
				return rundir.InputErrorf("- is standard input: give it alone, since runs are not mixed")
			}
			return in.loadStream(in.Stdin, "standard input")
		}
		info, err := os.Stat(recording.FileOf(path))
		switch {
		case errors.Is(err, os.ErrNotExist) && len(paths) == 1:
			return in.loadPrefix(path)
		case errors.Is(err, os.ErrNotExist):
			return rundir.InputErrorf("%w", err)
		case err != nil:
			return err
		case info.Mode().IsRegular():
		case len(paths) > 1 && info.IsDir():
			return rundir.InputErrorf("%s is a directory: give one run directory alone, since runs are not mixed", path)
		case len(paths) > 1:
			return rundir.InputErrorf("%s is no regular file: give it alone", path)
		case info.IsDir():
			return in.loadDir(path)
		default:
			return in.loadPipe(path)
		}
	}
	return in.loadFiles(paths)
}

// loadDir reads a run directory, or a dataset.
func (in *TrafficReader) loadDir(path string) error {
	if formats.IsDataset(path) {
		return in.loadDataset(path)
	}
	dir := rundir.Dir(path)
	opened, err := Open(dir, in.depth(), in.Log)
	if err != nil {
		return fmt.Errorf("read run directory %s: %w", path, err)
	}
	for _, err := range opened.Damaged {
		in.Damage.Add(err)
	}
	if len(opened.Jobs) == 0 {
		return rundir.InputErrorf("%s holds no recordings, no profile.arrow and no rank_block=0/part-0: no run of mpitrace, or one that recorded nothing", path)
	}
	in.symbolize(opened, Known(dir))
	return in.jobs(filepath.Join(path, "matrix"), opened, false)
}

// loadDataset reads a directory of part files. The matrices are written next to
// the directory: inside it they would look like parts.
func (in *TrafficReader) loadDataset(path string) error {
	parts, err := formats.OpenDataset(path)
	if err != nil {
		return err
	}
	opened, err := OpenSource(parts, in.Log)
	if err != nil {
		return err
	}
	if len(opened.Jobs) == 0 {
		return fmt.Errorf("%s: no process in it", path)
	}
	return in.jobs(filepath.Dir(filepath.Clean(path)), opened, false)
}

// depth returns how much of each recording is read before the traffic is added
// up.
func (in *TrafficReader) depth() Depth {
	if len(in.Selection.Callsites) > 0 {
		return Whole
	}
	return Heads
}

// symbolize finds the names of call sites if the selection uses them.
func (in *TrafficReader) symbolize(opened *Run, known profile.Symbols) {
	if len(in.Selection.Callsites) == 0 {
		return
	}
	for _, err := range opened.Symbolize(known) {
		in.Warn(err)
	}
}

// loadFiles reads files of one format and of one run.
func (in *TrafficReader) loadFiles(paths []string) error {
	format, err := commonFormat(paths)
	if err != nil {
		return err
	}
	switch format.Name {
	case "prof":
		prefix, err := profPrefix(paths)
		if err != nil {
			return err
		}
		return in.loadProf(prefix, paths)
	case "recording":
		return in.loadRecordings(paths)
	}
	files := formats.Files(paths)
	if _, err := files.Open(0); err != nil { // check the head of one file before all are read
		return err
	}
	opened, err := OpenSource(files, in.Log)
	if err != nil {
		return err
	}
	return in.ofRun(paths, opened)
}

func (in *TrafficReader) loadRecordings(paths []string) error {
	recordings, err := expand(paths)
	if err != nil {
		return err
	}
	opened := OpenRecordings(recordings, in.depth(), in.Log)
	if len(opened.Jobs) == 0 {
		return errors.Join(opened.Damaged...)
	}
	for _, err := range opened.Damaged {
		in.Damage.Add(err)
	}
	in.symbolize(opened, nil)
	return in.ofRun(paths, opened)
}

// ofRun reads the jobs of one file, or of several files of one run.
func (in *TrafficReader) ofRun(paths []string, opened *Run) error {
	if len(opened.Jobs) == 0 {
		return fmt.Errorf("%s: no process in it", paths[0])
	}
	if len(paths) > 1 && len(opened.Jobs) > 1 {
		return rundir.InputErrorf("the files are of different runs (%q and %q): make their matrices one by one",
			opened.Jobs[0].Run, opened.Jobs[1].Run)
	}
	return in.jobs(filepath.Dir(paths[0]), opened, len(paths) > 1)
}

// jobs adds up the jobs of a run. If several files were given (together), it
// checks that they belong to one MPI_COMM_WORLD.
func (in *TrafficReader) jobs(dir string, opened *Run, together bool) error {
	for _, from := range opened.Jobs {
		j, err := in.add(from, together)
		if err == nil {
			j.Prefix, j.Program, j.Run = filepath.Join(dir, from.Stem), from.Stem, from.Run
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
			in.Damage.Add(Damages(p)...)
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

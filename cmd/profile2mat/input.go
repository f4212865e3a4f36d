package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/profile"
)

// job is what there is to make matrices of, and how its files begin.
type job struct {
	matrix.Ranks
	tally        *matrix.Builder
	prefix       string // path
	program, run string
	world        world  // MPI_COMM_WORLD of files that were given together
	worldOf      string // whose it is
}

// input reads what PATHs name, job by job.
type input struct {
	use       func(*job) error // is given each job once it is read, and forgets it
	log       io.Writer
	stdin     io.Reader
	selection *matrix.Selection
	hosts     bool // are asked for
	damage    *damage
}

// damage is what could not be read of the input, each with its file and place.
type damage struct {
	errs []error
	seen map[string]bool
}

// add may be told the same as a run is opened, and as it is read.
func (d *damage) add(err error) {
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	if !d.seen[err.Error()] {
		d.seen[err.Error()] = true
		d.errs = append(d.errs, err)
	}
}

// refuse is why nothing is written; err is what went wrong besides.
func (d *damage) refuse(err error) error {
	if len(d.errs) == 0 {
		return err
	}
	all := errors.Join(d.errs...)
	if err != nil {
		return errors.Join(all, err)
	}
	return fmt.Errorf("%w\nthe input is damaged, nothing is written: --skip-damaged makes matrices of the rest", all)
}

// load reads the jobs that the paths hold: one, unless a run directory or an
// Arrow file holds several, or a prefix stands for several phases.
func (in input) load(paths []string) error {
	for _, path := range paths {
		if path == "-" {
			if len(paths) > 1 {
				return usagef("- is standard input: give it alone, since runs are not mixed")
			}
			return in.loadStream(in.stdin, "standard input")
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist) && len(paths) == 1:
			return in.loadPrefix(path)
		case errors.Is(err, os.ErrNotExist):
			return usageError{err}
		case err != nil:
			return err
		case info.Mode().IsRegular():
		case len(paths) > 1 && info.IsDir():
			return usagef("%s is a directory: give one run directory alone, since runs are not mixed", path)
		case len(paths) > 1:
			return usagef("%s is no regular file: give it alone", path)
		case info.IsDir():
			return in.loadDir(path)
		default:
			return in.loadPipe(path)
		}
	}
	return in.loadFiles(paths)
}

// loadDir reads a run directory, or a dataset.
func (in input) loadDir(path string) error {
	if formats.IsDataset(path) {
		return in.loadDataset(path)
	}
	dir := run.Dir(path)
	opened, err := dir.Open(in.depth(), in.log)
	if err != nil {
		return fmt.Errorf("read run directory %s: %w", path, err)
	}
	for _, err := range opened.Damaged {
		in.damage.add(err)
	}
	if len(opened.Jobs) == 0 {
		return usagef("%s holds no recordings, no profile.arrow and no rank_block=0/part-0: no run of mpitrace, or one that recorded nothing", path)
	}
	in.symbolize(opened, dir.Known())
	return in.jobs(filepath.Join(path, "matrix"), opened, false)
}

// loadDataset reads a directory of part files. Matrices go beside it: in it they
// would be taken for parts.
func (in input) loadDataset(path string) error {
	parts, err := formats.OpenDataset(path)
	if err != nil {
		return err
	}
	opened, err := run.OpenSource(parts, in.log)
	if err != nil {
		return err
	}
	if len(opened.Jobs) == 0 {
		return fmt.Errorf("%s: no process in it", path)
	}
	return in.jobs(filepath.Dir(filepath.Clean(path)), opened, false)
}

// depth is how much of recordings is looked at before they are added up.
func (in input) depth() run.Depth {
	if len(in.selection.Callsites) > 0 {
		return run.Whole
	}
	return run.Heads
}

// symbolize names call sites where they are selected by.
func (in input) symbolize(opened *run.Run, known profile.Symbols) {
	if len(in.selection.Callsites) == 0 {
		return
	}
	for _, err := range opened.Symbolize(known) {
		fmt.Fprintf(in.log, "profile2mat: %v\n", err)
	}
}

// loadFiles reads files of one format and of one run.
func (in input) loadFiles(paths []string) error {
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
	if _, err := files.Open(0); err != nil { // the head of one, before all are read
		return err
	}
	opened, err := run.OpenSource(files, in.log)
	if err != nil {
		return err
	}
	return in.ofRun(paths, opened)
}

// commonFormat is that of all files.
func commonFormat(paths []string) (*formats.Format, error) {
	var first *formats.Format
	for _, path := range paths {
		format, err := formats.Detect(path)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = format
		}
		if format != first {
			return nil, usagef("%s is of format %s and %s of format %s: give files of one, since both may hold the same ranks",
				paths[0], first.Name, path, format.Name)
		}
	}
	return first, nil
}

func (in input) loadRecordings(paths []string) error {
	opened := run.OpenRecordings(paths, in.depth(), in.log)
	if len(opened.Jobs) == 0 {
		return errors.Join(opened.Damaged...)
	}
	for _, err := range opened.Damaged {
		in.damage.add(err)
	}
	in.symbolize(opened, nil)
	return in.ofRun(paths, opened)
}

// ofRun takes the jobs of one file as those of a run directory; files together
// must be of one.
func (in input) ofRun(paths []string, opened *run.Run) error {
	if len(opened.Jobs) == 0 {
		return fmt.Errorf("%s: no process in it", paths[0])
	}
	if len(paths) > 1 && len(opened.Jobs) > 1 {
		return usagef("the files are of different runs (%q and %q): make their matrices one by one",
			opened.Jobs[0].Run, opened.Jobs[1].Run)
	}
	return in.jobs(filepath.Dir(paths[0]), opened, len(paths) > 1)
}

// jobs adds up the jobs of a run. Files that were given together are checked to
// be of one world; a run directory knows what it holds.
func (in input) jobs(dir string, opened *run.Run, together bool) error {
	for _, from := range opened.Jobs {
		j := &job{tally: matrix.NewBuilder(in.selection), prefix: filepath.Join(dir, from.Stem), program: from.Stem, run: from.Run}
		err := from.Each(func(p *profile.Profile) error {
			if together && p.Size > 0 {
				if err := j.meet(world{size: p.Size}, p.Source); err != nil {
					return err
				}
			}
			if err := run.Damage(p); err != nil {
				in.damage.add(err)
			}
			j.Add(p)
			j.tally.Add(p)
			return nil
		})
		if err == nil {
			err = in.use(j)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// meet compares a world with the one that was met before.
func (j *job) meet(w world, path string) error {
	if j.world == (world{}) {
		j.world, j.worldOf = w, path
	}
	if j.world != w {
		return differ(j.worldOf, j.world, path, w)
	}
	return nil
}

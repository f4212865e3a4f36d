package run

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Run is what was recorded in a run, told apart into jobs. Of the processes
// only what that takes is kept; their profiles are read again each time that a
// job is asked for them.
type Run struct {
	Jobs []*Job // by start
	// Damaged is a recording each that cannot be read, or that no longer says
	// which job it is of, and is left out; or one of which parts are missing,
	// and is used, now or when it was merged; recordings that are opened for
	// Heads have Damage of their profiles for themselves.
	Damaged []error
	Traced  Traced // of the events that Merge wrote

	folds   profile.Folds
	sites   symbolize.Sites
	wraps   profile.Wrappers
	symbols profile.Symbols
	log     io.Writer
	home    string                  // where recordings go that are still in the spool
	exits   map[string]profile.Exit // by the names of recordings

	physicalDir string // where the MPI library wrote what it sent; empty if nobody asked for it
	readings    bool   // some process has read performance variables
}

// Depth is how much of the processes Open looks at.
type Depth int

const (
	Heads Depth = iota // what tells jobs apart
	Whole              // call sites, and damage in any place, too
)

// NotRunError says that a path is that of a file, where a run directory is asked for.
type NotRunError struct{ Path string }

func (e *NotRunError) Error() string { return e.Path + " is a file, not the directory of a run" }

// Open looks through what was recorded: the recordings or, where these were
// removed, the merged file.
//
// A process that still runs changes its recording: its profile is kept as it
// was met, so that all that is made of the run says the same. If log is a
// terminal it shows how far long reading has come, now and later.
func (d Dir) Open(depth Depth, log io.Writer) (*Run, error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &NotRunError{string(d)}
	}
	files, err := d.RecordingFiles()
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		r := OpenRecordings(files, depth, log)
		r.home = d.Recordings()
		info, _ := d.ReadInfo() // without it nobody saw how processes ended
		r.exits = info.exits()
		if exists(d.Physical()) {
			r.physicalDir = d.Physical()
		}
		return r, nil
	}
	if !exists(d.Profile()) {
		return &Run{log: log}, nil
	}
	return d.openMerged(log)
}

// openMerged reads what the recordings were merged into. The facts are used also
// if the readings of variables are damaged.
func (d Dir) openMerged(log io.Writer) (*Run, error) {
	merged, err := table.Open(d.Profile())
	if err != nil {
		return nil, err
	}
	src, damage := profile.Source(merged), error(nil)
	if exists(d.Pvars()) {
		src, damage = table.WithReadings(merged, d.Pvars())
	}
	run, err := OpenSource(src, log)
	if err == nil && damage != nil {
		run.Damaged = append(run.Damaged, damage)
	}
	return run, err
}

// OpenSource tells apart the jobs of profiles from anywhere.
func OpenSource(src profile.Source, log io.Writer) (*Run, error) {
	r := &Run{log: log}
	all := &many{src: src}
	var members []member
	err := src.Each(func(p *profile.Profile) error {
		r.note(p)
		if err := Damage(p); err != nil {
			r.Damaged = append(r.Damaged, err)
		}
		members = append(members, memberOf(p, all, len(members)))
		return nil
	})
	r.tellApart(members)
	return r, err
}

// OpenRecordings looks through files, several at a time.
func OpenRecordings(files []string, depth Depth, log io.Writer) *Run {
	r := &Run{log: log}
	readFile := recording.ReadFile
	if depth == Heads {
		readFile = recording.ReadHead
	}
	var members []member
	bar := text.StartProgress(log, "looking through recordings", len(files))
	defer bar.Done()
	type read struct {
		p   *profile.Profile
		err error
	}
	_ = profile.ReadAhead(len(files), 1, func(i int, give func(read) error) error {
		p, err := readFile(files[i])
		return give(read{p, err})
	}, func(i int, got read) error {
		p, err := got.p, got.err
		bar.Step()
		if err == nil && (depth == Whole || p.Run == "") {
			err = Damage(p)
		}
		if err != nil {
			r.Damaged = append(r.Damaged, err)
		}
		if p != nil && (err == nil || p.Run != "") {
			r.note(p)
			members = append(members, memberOf(p, originOf(files[i], p, depth), 0))
		}
		return nil
	})
	r.tellApart(members)
	return r
}

// Damage is what a reader found wrong with the recording of a profile; nil if
// that is nothing.
func Damage(p *profile.Profile) error {
	if len(p.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s is damaged: %s", text.Line(cmp.Or(p.Source, fmt.Sprintf("rank %d", p.Rank))), text.Line(strings.Join(p.Problems, "; ")))
}

// note takes from a profile what is to be known of all before any is used.
func (r *Run) note(p *profile.Profile) {
	r.folds.Note(p)
	r.sites.Add(p)
	r.wraps.Note(p)
	r.readings = r.readings || len(p.Readings) > 0
}

// tellApart makes jobs of the processes. Launchers use names again, and some
// give none: a rank that comes a second time is one of another job.
func (r *Run) tellApart(members []member) {
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.start, b.start) })
	names := map[string]*runs{} // by the launcher's name
	jobs := map[string]*Job{}
	for _, m := range members {
		if names[m.run] == nil {
			names[m.run] = &runs{name: m.run, ranks: map[int]bool{}}
		}
		name := names[m.run].add(m.rank)
		if jobs[name] == nil {
			jobs[name] = &Job{Run: name, Start: m.start, run: r}
			r.Jobs = append(r.Jobs, jobs[name])
		}
		jobs[name].add(m)
	}
	slices.SortStableFunc(r.Jobs, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Run, b.Run))
	})
	for i, j := range r.Jobs {
		j.sort()
		if len(r.Jobs) > 1 {
			j.Stem = fmt.Sprintf("%s-job%d", j.Stem, i+1)
		}
	}
}

// Symbolize names the call sites of the run, which must be open at depth Whole.
// What is known is taken as it is, as programs may have changed or gone since.
// Each error is of one file whose call sites keep their addresses.
func (r *Run) Symbolize(known profile.Symbols) []error {
	var errs []error
	r.symbols, errs = r.sites.Symbols(known)
	r.wraps.Find(r.symbols)
	return errs
}

// Known are the names of call sites in the merged file, if there is one.
func (d Dir) Known() profile.Symbols {
	known, _ := table.ReadSymbols(d.Profile()) // there may be none yet
	return known
}

// Each gives the processes of all jobs: Run is a profile.Source.
func (r *Run) Each(f func(*profile.Profile) error) error {
	for _, j := range r.Jobs {
		if err := j.Each(f); err != nil {
			return err
		}
	}
	return nil
}

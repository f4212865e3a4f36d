package run

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Run is a recorded run, divided into jobs. It keeps only what is needed to
// distinguish the jobs; the profiles are read again for each walk over a job.
type Run struct {
	Jobs []*Job // ordered by start time
	// Damaged has an error for each damaged recording. A recording is left out
	// if it cannot be read at all or its job is not known; otherwise its
	// readable parts are used. With depth Heads, damage outside the headers is
	// not included: call Damage for each profile.
	Damaged []error
	Traced  Traced // result of Merge

	folds   profile.Folds
	sites   symbolize.Sites
	wraps   profile.Wrappers
	symbols profile.Symbols
	log     io.Writer
	home    string                  // directory into which recordings in the spool are collected
	exits   map[string]profile.Exit // by file name of the recording

	physicalDir string // directory of the MPI library's own counts; empty if they were not requested
	readings    bool   // whether any process has read performance variables
}

// Depth defines how much of each recording Open reads.
type Depth int

const (
	Heads Depth = iota // only what distinguishes jobs
	Whole              // everything, to collect call sites and damage
)

// Open reads the recordings of a run or, if they were removed, the merged file.
//
// The recording of a running process changes. Open therefore keeps its profile
// in memory, so that all results for the run are consistent. If log is a
// terminal, it shows the progress of this and later long reads.
func (d Dir) Open(depth Depth, log io.Writer) (*Run, error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, inputErrorf("%s is a file, not a run directory", d)
	}
	files, err := d.RecordingFiles()
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		r := OpenRecordings(files, depth, log)
		r.home = d.Recordings()
		info, _ := d.ReadInfo() // if it cannot be read, it is not known how processes ended
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

// OpenJobs opens a run directory. It returns an InputError if the directory
// contains no job. With depth Whole it finds the names of the call sites.
func (d Dir) OpenJobs(depth Depth, log io.Writer) (*Run, error) {
	run, err := d.Open(depth, log)
	if os.IsNotExist(err) {
		return nil, &InputError{err}
	}
	if err != nil {
		return nil, err
	}
	if len(run.Jobs) == 0 {
		warn(log, run.Damaged)
		return nil, d.whyEmpty()
	}
	if depth == Whole {
		warn(log, run.Symbolize(d.Known()))
	}
	return run, nil
}

func warn(log io.Writer, errs []error) {
	for _, err := range errs {
		fmt.Fprintf(log, "mpitrace: %s\n", text.Lines(err.Error()))
	}
}

// openMerged reads the merged file. If the readings of variables are damaged,
// it adds the damage to the run and uses the rest.
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

// OpenSource divides the profiles of any source into jobs.
func OpenSource(src profile.Source, log io.Writer) (*Run, error) {
	r := &Run{log: log}
	all := &fileSource{src: src}
	var members []member
	err := src.Each(func(p *profile.Profile) error {
		r.note(p)
		if err := Damage(p); err != nil {
			r.Damaged = append(r.Damaged, err)
		}
		members = append(members, memberOf(p, all, len(members)))
		return nil
	})
	r.splitJobs(members)
	return r, err
}

// OpenRecordings reads recordings, several at a time, and divides them into
// jobs.
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
	r.splitJobs(members)
	return r
}

// note adds what must be known of all profiles before any is used.
func (r *Run) note(p *profile.Profile) {
	r.folds.Note(p)
	r.sites.Add(p)
	r.wraps.Note(p)
	r.readings = r.readings || len(p.Readings) > 0
}

// splitJobs divides the processes into jobs. Some launchers use the same name
// for several jobs and some provide no name, so a rank that occurs a second
// time begins a new job.
func (r *Run) splitJobs(members []member) {
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.start, b.start) })
	names := map[string]*jobNames{} // launcher's name -> names of its jobs
	jobs := map[string]*Job{}
	for _, m := range members {
		if names[m.run] == nil {
			names[m.run] = &jobNames{name: m.run, ranks: map[int]bool{}}
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

// Symbolize finds the names of the run's call sites. The run must have been
// opened with depth Whole. Names in known are used unchanged, because programs
// may have been changed or removed since. Each error is about one file whose
// call sites stay addresses.
func (r *Run) Symbolize(known profile.Symbols) []error {
	var errs []error
	r.symbols, errs = r.sites.Symbols(known)
	r.wraps.Find(r.symbols)
	return errs
}

// Known returns the names of call sites in the merged file, if there is one.
func (d Dir) Known() profile.Symbols {
	known, _ := table.ReadSymbols(d.Profile()) // there may be no merged file yet
	return known
}

// Each calls f with the profiles of all jobs: Run is a profile.Source.
func (r *Run) Each(f func(*profile.Profile) error) error {
	for _, j := range r.Jobs {
		if err := j.Each(f); err != nil {
			return err
		}
	}
	return nil
}

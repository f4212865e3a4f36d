// Package source reads profiles: of runs, recordings, containers, .prof and Arrow files. It
// divides them into jobs and names their call sites.
package source

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/rundir"
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
	// not included: call Damage for each profile. With depth Once, it is included
	// when the jobs have been read.
	Damaged []error
	Traced  Traced // result of Merge

	kinds   map[memberKey]*memberKind
	Folds   profile.Folds
	sites   symbolize.Sites
	Wraps   profile.Wrappers
	Symbols profile.Symbols
	Log     io.Writer
	Home    *home                   // nil if it is not known
	Exits   map[string]profile.Exit // by file name of the recording
	lost    []string                // see profile.Profile.Lost

	ended     bool      // see Ended
	State     string    // see Dir.state, before the recordings were read; "" if it is not known
	stackAuto bool      // whether any process recorded with --stack auto
	once      *oncePass // with depth Once

	PhysicalDir string // directory of the MPI library's own counts; empty if they were not requested
	readings    bool   // whether any process has read performance variables
}

// Depth defines how much of each recording Open reads.
type Depth int

const (
	Heads      Depth = iota // only what distinguishes jobs
	Whole                   // everything, to collect call sites and damage
	Once                    // as Heads: call sites are named and damage is collected when the jobs are read
	OnceIfMany              // Whole, or Once if there are more than MostMerged processes
)

// MostMerged is the largest number of processes of a run that commands merge without being
// asked to.
const MostMerged = 10_000

// ReadOnce reports whether the run was opened with depth Once.
func (r *Run) ReadOnce() bool { return r.once != nil }

// Open reads the recordings of a run or, if they were removed, the merged file.
//
// The recording of a running process changes. Open therefore keeps its profile
// in memory, so that all results for the run are consistent. If log is a
// terminal, it shows the progress of this and later long reads.
func Open(d rundir.Dir, depth Depth, log io.Writer) (*Run, error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, rundir.InputErrorf("%s is a file, not a run directory", d)
	}
	files, err := d.RecordingFiles()
	if err != nil {
		return nil, err
	}
	if depth == OnceIfMany {
		if depth = Whole; len(files) > MostMerged {
			depth = Once
		}
	}
	if len(files) > 0 {
		state := ""
		if depth == Whole {
			state = d.State(files)
		}
		r := OpenRecordings(files, depth, log)
		r.State = state
		Describe(d, r)
		return r, nil
	}
	if !rundir.Exists(d.Profile()) {
		return &Run{Log: log}, nil
	}
	return openMerged(d, log)
}

// Describe adds to a run what its directory tells about processes besides their
// recordings.
func Describe(d rundir.Dir, r *Run) {
	r.Home = &home{dir: d}
	info, _ := d.ReadInfo() // if it cannot be read, it is not known how processes ended
	r.Exits = info.Exits()
	r.ended = info.ExitStatus != nil || r.State != "" && d.ReadMerged().Recordings == r.State
	if rundir.Exists(d.Physical()) {
		r.PhysicalDir = d.Physical()
	}
}

// Ended reports whether all processes are known to have ended: the command that
// started them has, or the run was merged. Processes that no command waits for may
// run on other nodes for as long as their recordings are not complete.
func (r *Run) Ended() bool { return r.ended }

// OpenJobs opens a run directory. It returns an InputError if the directory
// contains no job. With depth Whole it finds the names of the call sites.
func OpenJobs(d rundir.Dir, depth Depth, log io.Writer) (*Run, error) {
	run, err := Open(d, depth, log)
	if os.IsNotExist(err) {
		return nil, rundir.InputErrorf("%w", err)
	}
	if err != nil {
		return nil, err
	}
	if len(run.Jobs) == 0 {
		warn(log, run.Damaged)
		return nil, d.WhyEmpty()
	}
	switch {
	case run.ReadOnce():
		run.symbolizeSome(Known(d))
	case depth != Heads:
		warn(log, run.Symbolize(Known(d)))
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
func openMerged(d rundir.Dir, log io.Writer) (*Run, error) {
	merged, err := table.Open(d.Profile())
	if err != nil {
		return nil, err
	}
	src, damage := profile.Source(merged), error(nil)
	if rundir.Exists(d.Pvars()) {
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
	r := &Run{Log: log}
	all := &fileSource{src: src}
	var members []Member
	err := src.Each(func(p *profile.Profile) error {
		r.note(p)
		for _, err := range Damages(p) {
			if err != nil {
				r.Damaged = append(r.Damaged, err)
			}
		}
		members = append(members, r.MemberOf(p, all, "", len(members)))
		return nil
	})
	r.SplitJobs(members)
	return r, err
}

// OpenRecordings reads recordings, several at a time, and divides them into
// jobs.
func OpenRecordings(files []string, depth Depth, log io.Writer) *Run {
	r := &Run{Log: log}
	members := make([]Member, 0, len(files))
	bar := text.StartProgress(log, "looking through recordings", len(files))
	defer bar.Done()
	units := unitsOf(files)
	_ = profile.ReadAhead(len(units), 1, func(i int, give func(opened) error) error {
		return units[i].open(depth, give)
	}, func(i int, o opened) error {
		bar.Step()
		if o.err != nil {
			r.Damaged = append(r.Damaged, o.err)
			if o.p == nil && o.head == nil {
				r.lost = append(r.lost, o.err.Error())
			}
		}
		switch {
		case o.p != nil:
			r.note(o.p)
			members = append(members, r.MemberOf(o.p, originOf(units[i].dir, o.p, depth), filepath.Base(o.file), 0))
		case o.head != nil:
			r.noteHead(o.head)
			members = append(members, r.memberOfHead(o.head, units[i].dir))
		}
		return nil
	})
	r.SplitJobs(members)
	if depth == Once {
		r.prepareOnce()
	}
	return r
}

// unit is the recordings in one container, or a recording in a file of its own.
type unit struct {
	dir   *recordingDir
	files []string
	whole bool // the recordings are in a container
}

// unitsOf groups the paths of recordings, those of a container together.
func unitsOf(files []string) []unit {
	var units []unit
	containers := map[string]int{}
	dirs := map[string]*recordingDir{}
	for _, file := range files {
		dir := filepath.Dir(file)
		if i, ok := containers[dir]; ok {
			units[i].files = append(units[i].files, file)
			continue
		}
		if dirs[dir] == nil {
			dirs[dir] = &recordingDir{dir}
		}
		u := unit{dir: dirs[dir], files: []string{file}}
		if strings.HasSuffix(dir, recording.ContainerSuffix) && isRegular(dir) {
			containers[dir], u.whole = len(units), true
		}
		units = append(units, u)
	}
	return units
}

func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// opened is what was read of one recording: its profile, or its head. err is damage.
type opened struct {
	file string
	p    *profile.Profile
	head *recording.Head
	err  error
}

// open gives what is to be known of each recording at a depth.
func (u *unit) open(depth Depth, give func(opened) error) error {
	if u.whole && depth != Whole {
		return u.openHeads(give)
	}
	readFile := recording.ReadFile
	if depth != Whole {
		readFile = recording.ReadHead
	}
	if u.whole {
		err := recording.WithContainer(u.dir.path, func(c *recording.Container) error { return giveProblems(c, give) })
		if err != nil {
			return err
		}
	}
	for _, file := range u.files {
		p, err := readFile(file)
		if err == nil && (depth == Whole || p.Run == "") {
			err = Damage(p)
		}
		if err != nil && p != nil && p.Run == "" {
			p = nil
		}
		if err := give(opened{file: file, p: p, err: err}); err != nil {
			return err
		}
	}
	return nil
}

// openHeads gives the heads of the recordings of a container.
func (u *unit) openHeads(give func(opened) error) error {
	c, err := recording.OpenContainer(u.dir.path)
	if err != nil {
		return give(opened{err: err})
	}
	defer c.Close()
	if err := giveProblems(c, give); err != nil {
		return err
	}
	heads := c.Heads()
	wanted := map[string]bool{}
	if len(heads) != len(u.files) { // others are elsewhere
		for _, file := range u.files {
			wanted[filepath.Base(file)] = true
		}
	}
	for i := range heads {
		h := &heads[i]
		if len(wanted) > 0 && !wanted[h.Name] {
			continue
		}
		o := opened{head: h}
		if h.Unreadable || h.Run == "" {
			p, err := c.ReadHead(i)
			if err == nil {
				err = Damage(p)
			}
			o = opened{file: filepath.Join(c.Path(), h.Name), p: p, err: err}
			if err != nil && p != nil && p.Run == "" {
				o.p = nil
			}
		}
		if err := give(o); err != nil {
			return err
		}
	}
	return nil
}

// giveProblems gives the damage of a container that belongs to no recording.
func giveProblems(c *recording.Container, give func(opened) error) error {
	for _, damage := range ContainerDamage(c) {
		if err := give(opened{err: damage}); err != nil {
			return err
		}
	}
	return nil
}

func ContainerDamage(c *recording.Container) (errs []error) {
	for _, problem := range c.Problems() {
		errs = append(errs, fmt.Errorf("%s is damaged: %s", text.Line(c.Path()), text.Line(problem)))
	}
	return errs
}

// note adds what must be known of all profiles before any is used.
func (r *Run) note(p *profile.Profile) {
	r.Folds.Note(p)
	r.sites.Add(p, p.Start)
	r.Wraps.Note(p)
	r.readings = r.readings || len(p.Readings) > 0
	r.stackAuto = r.stackAuto || p.Settings["stack"] == profile.StackAuto
}

// noteHead adds what the head of a recording has of that.
func (r *Run) noteHead(h *recording.Head) {
	r.Folds.Add(h.Folds...)
	r.readings = r.readings || h.Readings
	r.stackAuto = r.stackAuto || h.StackAuto
}

// SplitJobs divides the processes into jobs. Some launchers use the same name
// for several jobs and some provide no name, so a rank that occurs a second
// time begins a new job.
func (r *Run) SplitJobs(members []Member) {
	slices.SortStableFunc(members, func(a, b Member) int { return cmp.Compare(a.start, b.start) })
	names := map[string]*jobNames{} // launcher's name -> names of its jobs
	jobs := map[string]*Job{}
	of := make([]*Job, len(members))
	for i := range members {
		m := &members[i]
		if names[m.run] == nil {
			names[m.run] = &jobNames{name: m.run, ranks: map[int32]bool{}}
		}
		name := names[m.run].add(m.rank)
		if jobs[name] == nil {
			jobs[name] = &Job{Run: name, Start: m.start, Within: r}
			r.Jobs = append(r.Jobs, jobs[name])
		}
		of[i] = jobs[name]
		of[i].note(m)
	}
	for _, j := range r.Jobs {
		j.Members = make([]Member, 0, j.Processes)
	}
	for i := range members {
		of[i].Members = append(of[i].Members, members[i])
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
	r.Symbols, errs = r.sites.Symbols(known)
	r.Wraps.Find(r.Symbols)
	return errs
}

// Known returns the names of call sites in the containers and, if one has none, those in the
// merged file.
func Known(d rundir.Dir) profile.Symbols {
	known, all := profile.Symbols{}, true
	for _, path := range d.Containers() {
		_ = recording.WithContainer(path, func(c *recording.Container) error { // damage is reported where recordings are read
			all = all && len(c.Symbols()) > 0
			maps.Copy(known, c.Symbols())
			return nil
		})
	}
	if len(known) == 0 || !all {
		merged, _ := table.ReadSymbols(d.Profile()) // there may be no merged file yet
		for place, name := range merged {
			if _, named := known[place]; !named {
				known[place] = name
			}
		}
	}
	return known
}

// Each calls f with the profiles of all jobs: Run is a profile.Source. The first one has
// the damage that belongs to none.
func (r *Run) Each(f func(*profile.Profile) error) error {
	lost := r.lost
	for _, j := range r.Jobs {
		err := j.Each(func(p *profile.Profile) error {
			if len(lost) > 0 {
				p.Lost, lost = lost, nil
			}
			return f(p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// MissingText names the ranks of each job that have no recording.
func (r *Run) MissingText() (lines []string) {
	for _, j := range r.Jobs {
		found := make([]int, len(j.Members))
		for i := range j.Members {
			found[i] = int(j.Members[i].rank)
		}
		if missing := profile.RankSetOf(found...).Complement(j.Size); len(missing) > 0 {
			lines = append(lines, profile.NoRecording(missing, j.Size))
		}
	}
	return lines
}

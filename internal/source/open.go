// Package source is the door to all that was recorded: Open reads runs, recordings,
// containers, .prof files and Arrow files. A command reads its input in these steps:
//
//  1. Open finds out what the paths are, and lists the recordings or files.
//  2. It reads what tells jobs apart: of packed containers, their index. If the command
//     needs more (Depth), it decodes recordings, and keeps the profiles as long as there is
//     room for them.
//  3. It divides the processes into jobs, and names call sites: those of the profiles that it
//     kept, or a sample.
//  4. Each and EachPart of a Run or Job give the profiles, in order or several at a time.
//     What was not kept is decoded now, and call sites that are met for the first time are
//     named. Everything that the command makes (sums, matrices, tables) is made of this.
//  5. Damage and Unnamed tell what could not be read, or not be named. Both are complete after
//     the fourth step.
//
// So a recording is decoded once for each command, unless a run is too large to be kept and
// the command walks over it several times.
package source

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Run is a recorded run, divided into jobs.
type Run struct {
	Path   string     // as the user gave it, the first one of several
	Dir    rundir.Dir // of a run directory; otherwise empty
	Jobs   []*Job     // ordered by start time
	Traced Traced     // result of Merge

	damaged DamageList
	unnamed []error        // of files whose call sites stay addresses
	lacks   string         // see Lacks
	tables  profile.Source // of tables that are not divided into jobs
	flows   flows          // .prof files, which have no profiles
	base    string         // start of the names of matrices
	several bool           // whether several files were given
	copied  string         // path of a copy of a stream
	close   func()         // removes the copy, or closes the stream

	kinds   map[memberKey]*memberKind
	Folds   profile.Folds
	sites   symbolize.Sites
	Wraps   profile.Wrappers
	Symbols profile.Symbols
	Log     io.Writer
	Home    *home                   // nil if it is not known
	Exits   map[string]profile.Exit // by file name of the recording
	Lost    []string                // see profile.Profile.Lost

	ended     bool      // see Ended
	State     string    // see Dir.state, before the recordings were read; "" if it is not known
	stackAuto bool      // whether any process recorded with --stack auto
	once      *oncePass // with depth Once

	PhysicalDir string // directory of the MPI library's own counts; empty if they were not requested
}

// Options tell what a command needs of its input.
type Options struct {
	Depth   Depth
	Log     io.Writer       // if it is a terminal, it shows the progress of this and later long reads
	Known   profile.Symbols // names of call sites; nil for those in the run's merged file
	RunOnly bool            // the path must be a run directory
	Tables  bool            // tables are not divided into jobs: Each gives their profiles as they are
	Traffic bool            // only what was sent is needed: .prof files, and the prefix of some, are read too
	Stdin   io.Reader       // what the path "-" stands for; nil if it is a name
	Room    *Room           // for profiles that are kept, if several runs share it; otherwise nil
}

// Depth defines how much of each recording Open reads.
type Depth int

const (
	Heads Depth = iota // only what distinguishes jobs: call sites stay addresses
	Once               // as Heads: call sites are named and damage is found when the jobs are read
	Whole              // everything. The profiles are kept as long as there is room; for the others, it is as Once
)

// Open opens the input of a command: a run directory, a dataset, or files of one format. If a
// run has no recordings any more, its merged file is read. There may be no job in a run
// directory: see NoJob.
func Open(paths []string, o Options) (*Run, error) {
	r := &Run{Path: paths[0], Log: o.Log}
	switch {
	case o.Depth == Heads:
		o.Room = newRoom(mostOfTables)
	case o.Room == nil:
		o.Room = NewRoom()
	}
	if err := r.open(paths, &o); err != nil {
		r.Close()
		return nil, err
	}
	if o.Depth != Heads && r.tables == nil {
		r.symbolize(o.Known)
	}
	return r, nil
}

// Split divides the profiles of a source, such as a list, into jobs.
func Split(src profile.Source, o Options) (*Run, error) {
	r := &Run{Log: o.Log}
	err := r.split(src, NewRoom())
	if o.Depth != Heads {
		r.symbolize(o.Known)
	}
	return r, err
}

// Close removes what Open has made.
func (r *Run) Close() {
	if r.close != nil {
		r.close()
	}
}

// openDirectory opens a run directory.
func (r *Run) openDirectory(o *Options) error {
	d := rundir.Dir(r.Path)
	r.Dir, r.base = d, filepath.Join(r.Path, "matrix")
	files, err := d.RecordingFiles()
	if err != nil {
		return err
	}
	if o.Known == nil && o.Depth != Heads {
		o.Known = Known(d)
	}
	if len(files) > 0 {
		if o.Depth == Whole {
			r.State = d.State(files)
		}
		Describe(d, r)
		r.openRecordings(files, o)
		return nil
	}
	if !rundir.Exists(d.Profile()) {
		return nil
	}
	src, err := openTables(d.Profile())
	if err != nil {
		return err
	}
	if of, ok := src.(interface{ Lacks() string }); ok {
		r.lacks = of.Lacks()
	}
	if o.Tables {
		o.Depth = Heads // the rows have the names of call sites
	}
	return r.split(src, o.Room)
}

// openTables opens the merged table of profiles: a file, or the directory of its parts.
func openTables(path string) (profile.Source, error) {
	if formats.IsDataset(path) {
		return formats.OpenDataset(path)
	}
	return formats.Files{path}.Open(0)
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

// NoJob returns an error that explains why there is no job; nil if there is one.
func (r *Run) NoJob() error {
	switch {
	case len(r.Jobs) > 0 || r.tables != nil:
		return nil
	case r.Dir != "":
		return r.Dir.WhyEmpty()
	}
	return rundir.InputErrorf("%s: no process in it", r.Path)
}

// Lacks says what is not known because the run was read from tables; empty if it was not.
func (r *Run) Lacks() string { return r.lacks }

// Ended reports whether all processes are known to have ended: the command that
// started them has, or the run was merged. Processes that no command waits for may
// run on other nodes for as long as their recordings are not complete.
func (r *Run) Ended() bool { return r.ended }

// ReadOnce reports whether profiles are read while the jobs are: not all are kept.
func (r *Run) ReadOnce() bool { return r.once != nil }

// split divides the profiles of a source into jobs, and keeps those that there is room for.
func (r *Run) split(src profile.Source, room *Room) error {
	all := &fileSource{src: src}
	var members []Member
	err := src.Each(func(p *profile.Profile) error {
		r.note(p)
		r.warnUntold(p)
		r.damaged.Add(Damages(p)...)
		from := origin(all)
		if room.take(p) {
			from = KeptProfile{p}
		}
		members = append(members, r.MemberOf(p, from, "", len(members)))
		return nil
	})
	r.SplitJobs(members)
	return err
}

// warnUntold warns of what tables do not tell.
func (r *Run) warnUntold(p *profile.Profile) {
	for _, line := range p.Untold {
		if r.Log != nil {
			fmt.Fprintf(r.Log, "mpitrace: %s\n", text.Lines(line))
		}
	}
}

// note adds what must be known of all profiles before any is used.
func (r *Run) note(p *profile.Profile) {
	r.Folds.Note(p)
	r.sites.Add(p, p.Start)
	r.Wraps.Note(p)
	r.stackAuto = r.stackAuto || p.Settings["stack"] == profile.StackAuto
}

// noteHead adds what the head of a recording has of that.
func (r *Run) noteHead(h *recording.Head) {
	r.Folds.Add(h.Folds...)
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

// symbolize finds the names of the run's call sites. Names in known are used unchanged,
// because programs may have been changed or removed since.
func (r *Run) symbolize(known profile.Symbols) {
	if r.once != nil {
		r.symbolizeSome(known)
		return
	}
	r.Symbols, r.unnamed = r.sites.Symbols(known)
	r.Wraps.Find(r.Symbols)
}

// Known returns the names of call sites in the merged file, if there is one.
func Known(d rundir.Dir) profile.Symbols {
	return formats.Names(d.Profile())
}

// Each calls f with the profiles of all jobs: Run is a profile.Source. The first one has
// the damage that belongs to none.
func (r *Run) Each(f func(*profile.Profile) error) error {
	if r.tables != nil {
		return r.tables.Each(f)
	}
	lost := r.Lost
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

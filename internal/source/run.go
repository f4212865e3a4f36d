package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
	unnamed []*symbolize.FileError // of files whose call sites stay addresses
	lacks   string                 // see Lacks
	tables  profile.Source         // of tables that are not divided into jobs
	flows   flows                  // .prof files, which have no profiles
	base    string                 // start of the names of matrices
	several bool                   // whether several files were given
	copied  string                 // path of a copy of a stream
	close   func()                 // removes the copy, or closes the stream

	kinds   map[memberKey]*memberKind
	Folds   profile.Folds
	sites   symbolize.Sites
	Wraps   profile.Wrappers
	Symbols profile.Symbols
	Log     io.Writer
	Home    *home                   // nil if it is not known
	Exits   map[string]profile.Exit // by file name of the recording
	Lost    []string                // see profile.Profile.Lost

	// Also is called with each profile of a job before the profile's reader gets it, by several
	// goroutines; it may be nil. So a recording that is not kept is decoded once for two purposes.
	Also func(*Job, *profile.Profile) error

	ended     bool      // see Ended
	State     string    // see Dir.state, before the recordings were read; "" if it is not known
	stackAuto bool      // whether any process recorded with --stack auto
	once      *oncePass // with depth Once

	PhysicalDir string // directory of the MPI library's own counts; empty if they were not requested
}

// Options tell what a command needs of its input.
type Options struct {
	Depth Depth
	// where the progress of this and later long reads is shown, if it is a terminal
	Log     io.Writer
	Known   profile.Symbols // names of call sites; nil for those in the run's merged file
	RunOnly bool            // the path must be a run directory
	Tables  bool            // tables are not divided into jobs: Each gives their profiles as they are
	// whether only the traffic is needed: then .prof files, and a prefix of their names, can be
	// read too
	Traffic bool
	Stdin   io.Reader // what the path "-" stands for; nil if it is a name
	Room    *Room     // for profiles that are kept, if several runs share it; otherwise nil
}

// Depth defines how much of each recording Open reads.
type Depth int

const (
	Heads Depth = iota // only what distinguishes jobs; call sites stay addresses
	Once               // as Heads, but call sites are named, and damage is found, when the jobs are read
	Whole              // everything; profiles for which there is no room are treated as with Once
)

// Close removes what Open has made.
func (r *Run) Close() {
	if r.close != nil {
		r.close()
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

// Lacks says what is not known because the run was read from tables; empty if it was not read from
// tables.
func (r *Run) Lacks() string {
	switch {
	case r.lacks == "":
		return ""
	case r.Dir != "":
		return r.Dir.Profile() + " is read, since there are no recordings: it does not have " + r.lacks
	}
	return r.Path + " does not have " + r.lacks
}

// Ended reports whether all processes are known to have ended: the command that started them has
// ended, or the run was merged. If no command waits for the processes, they count as running,
// perhaps on other nodes, while their recordings are not complete.
func (r *Run) Ended() bool { return r.ended }

// ReadOnce reports whether profiles are read while the jobs are read, because not all are kept.
func (r *Run) ReadOnce() bool { return r.once != nil }

// warnUntold warns about what the tables do not contain.
func (r *Run) warnUntold(p *profile.Profile) {
	for _, line := range p.Untold {
		if r.Log != nil {
			fmt.Fprintf(r.Log, "mpitrace: %s\n", text.Lines(line))
		}
	}
}

// note adds what a profile contributes to the whole run: the fold ids of communicators that share
// records, call sites, and wrappers. All profiles must be noted before any is passed on.
func (r *Run) note(p *profile.Profile) {
	r.Folds.Note(p)
	r.sites.Add(p, p.Start)
	r.Wraps.Note(p)
	r.stackAuto = r.stackAuto || p.Settings["stack"] == profile.StackAuto
}

// noteHead adds what the head of a recording contributes to the whole run.
func (r *Run) noteHead(h *recording.Head) {
	r.Folds.Add(h.Folds...)
	r.stackAuto = r.stackAuto || h.StackAuto
}

// Each calls f with the profiles of all jobs: Run is a profile.Source. The first profile has the
// damage that belongs to no profile.
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

// physicalOf returns the messages that the library sent for a process; nil if
// they were not requested.
func (r *Run) physicalOf(p *profile.Profile) *profile.Physical {
	switch {
	case r.PhysicalDir == "":
		return p.Physical
	case p.Rank < 0:
		return nil // it ended in MPI_Init
	case p.State != profile.Finalized:
		return &profile.Physical{Unknown: notFinalized}
	}
	// The second name is used if the process read its settings before it called
	// MPI_Init (see launch.Recorder).
	for _, name := range []string{strings.TrimSuffix(filepath.Base(p.Source), rundir.RecordingSuffix),
		fmt.Sprintf("%s-%d", strings.ReplaceAll(p.Host, "/", "_"), p.Pid)} {
		path := filepath.Join(r.PhysicalDir, fmt.Sprintf("%s.%d.prof", name, p.Rank))
		flows, err := readPhysical(path, p)
		switch {
		case err == nil:
			return &profile.Physical{Flows: flows}
		case !errors.Is(err, os.ErrNotExist):
			return &profile.Physical{Unknown: fmt.Sprintf(damagedFormat, err)}
		}
	}
	return &profile.Physical{Unknown: notWritten}
}

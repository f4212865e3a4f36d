package run

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Job is an MPI job of a run. It is a profile.Source of the job's processes.
type Job struct {
	Run       string // unique in the run; the launcher's name of the job if that is unique
	Stem      string // start of the job's file names: the program's name, followed by -job1, -job2, ... if there are several jobs
	Start     int64  // Unix ns when the first process began to record
	Size      int    // size of MPI_COMM_WORLD, as far as known; at least the largest rank plus 1
	Processes int    // number of processes with a recording

	members   []member
	finalized int                // number of processes that reached MPI_Finalize
	library   string             // version string of the MPI, from the process with the lowest rank
	variables []profile.Variable // from rank 0
	run       *Run
}

// member is a process of a job, and the place where its profile is stored.
type member struct {
	run, program, host string
	library            string
	finalized          bool
	rank, pid, size    int
	start              int64
	from               origin
	index              int                // index of the profile in from
	variables          []profile.Variable // only of rank 0
}

// origin is the place where a profile is stored. single reports whether it
// holds only one profile.
type origin interface{ single() bool }

// recordingPath is the path of a recording.
type recordingPath string

// keptProfile is a profile in memory. It is used for a running process, whose
// recording may have changed since it was read.
type keptProfile struct{ p *profile.Profile }

// fileSource holds several profiles.
type fileSource struct{ src profile.Source }

func (recordingPath) single() bool { return true }
func (keptProfile) single() bool   { return true }
func (*fileSource) single() bool   { return false }

func originOf(path string, p *profile.Profile, depth Depth) origin {
	if depth == Whole && p.State != profile.Finalized {
		return keptProfile{p}
	}
	return recordingPath(path)
}

func memberOf(p *profile.Profile, from origin, index int) member {
	m := member{run: p.Run, program: p.Name(), finalized: p.State == profile.Finalized, library: p.LibraryLine(), host: p.Host, rank: p.Rank, pid: p.Pid, size: p.Size, start: p.Start,
		from: from, index: index}
	if p.Rank == 0 {
		m.variables = p.Variables
	}
	return m
}

func (j *Job) add(m member) {
	j.members = append(j.members, m)
	j.Processes++
	if m.finalized {
		j.finalized++
	}
	j.Size = max(j.Size, m.size, m.rank+1)
	if m.start < j.Start {
		j.Start = m.start
	}
	if m.rank == 0 {
		j.variables = m.variables
	}
}

// info returns the description of the job for run.json.
func (j *Job) info() JobInfo {
	return JobInfo{Run: j.Run, Program: j.Stem, Size: j.Size, Recorded: j.Processes, StartNs: j.Start, Library: j.library, Variables: j.variables}
}

// Finalized reports whether all processes of the job have a recording and reached MPI_Finalize.
func (j *Job) Finalized() bool { return j.finalized == j.Processes && j.Processes >= j.Size }

// Only returns the job with only those processes whose ranks keep returns true for.
func (j *Job) Only(keep func(rank int) bool) *Job {
	out := *j
	out.members = slices.DeleteFunc(slices.Clone(j.members), func(m member) bool { return !keep(m.rank) })
	return &out
}

// Loaded returns the paths of the files that the process with the lowest rank
// had loaded, as far as known.
func (j *Job) Loaded() []string {
	var files []string
	_ = j.Each(func(p *profile.Profile) error { // Open has already read it without an error
		for _, m := range p.Modules {
			files = append(files, m.Path)
		}
		return errEnough
	})
	return files
}

// errEnough stops Job.Each early.
var errEnough = errors.New("enough")

// sort orders the processes by rank, and sets the job's Stem to the program of
// the lowest rank.
func (j *Job) sort() {
	slices.SortFunc(j.members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.start, b.start), cmp.Compare(a.host, b.host), cmp.Compare(a.pid, b.pid))
	})
	j.Stem = "mpi"
	for _, m := range j.members {
		j.library = cmp.Or(j.library, m.library)
	}
	for _, m := range j.members {
		if m.program != "" {
			j.Stem = text.FileName(filepath.Base(m.program))
			return
		}
	}
}

// Each calls f with the profiles in order of rank. It reads several recordings
// at a time.
func (j *Job) Each(f func(*profile.Profile) error) error {
	bar := text.StartProgress(j.run.log, "reading "+j.Stem, len(j.members))
	defer bar.Done()
	give := func(p *profile.Profile) error {
		bar.Step()
		p.Run = j.Run
		if exit, seen := j.run.exits[filepath.Base(p.Source)]; seen {
			p.Exit = exit
		}
		j.run.folds.Unify(p)
		if j.run.symbols != nil {
			p.Symbols = j.run.symbols
			j.run.wraps.Skip(p)
		}
		return f(p)
	}
	for rest := j.members; len(rest) > 0; {
		n := 1
		for n < len(rest) && (rest[n].from == rest[0].from || rest[n].from.single() && rest[0].from.single()) {
			n++
		}
		var err error
		if from, ok := rest[0].from.(*fileSource); ok {
			err = from.each(rest[:n], give)
		} else {
			err = j.run.readRecordings(rest[:n], give)
		}
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func (r *Run) readRecordings(members []member, give func(*profile.Profile) error) error {
	return profile.ReadAhead(len(members), 1, func(i int, deliver func(*profile.Profile) error) error {
		p, err := members[i].read(r.home)
		if err != nil {
			return err
		}
		p.Physical = r.physical(p)
		return deliver(p)
	}, func(_ int, p *profile.Profile) error { return give(p) })
}

// read returns the profile of a single origin. It also looks for the recording
// in the directory home, because it may have been collected since it was found
// in the spool.
func (m *member) read(home string) (*profile.Profile, error) {
	if kept, ok := m.from.(keptProfile); ok {
		p := *kept.p
		p.Comms = slices.Clone(p.Comms)
		return &p, nil
	}
	path := string(m.from.(recordingPath))
	p, err := recording.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && home != "" {
		return recording.ReadFile(filepath.Join(home, filepath.Base(path)))
	}
	return p, err
}

// each calls give with the profiles of the given members, in the source's
// order.
func (m *fileSource) each(members []member, give func(*profile.Profile) error) error {
	wanted := make(map[int]bool, len(members))
	for i := range members {
		wanted[members[i].index] = true
	}
	i := -1
	return m.src.Each(func(p *profile.Profile) error {
		if i++; !wanted[i] {
			return nil
		}
		return give(p)
	})
}

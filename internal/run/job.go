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

// Job is an MPI job of a run: a profile.Source of its processes.
type Job struct {
	Run       string // differs for each job of the run; the launcher's name where that does
	Stem      string // what its files begin with: the program's name, and -job1, -job2 … of several jobs
	Start     int64  // when the first process began to record, in Unix ns
	Size      int    // of MPI_COMM_WORLD, as far as it is known, and at least what the largest rank asks for
	Processes int    // that were recorded

	members   []member
	finalized int                // processes that reached MPI_Finalize
	library   string             // as the process of the lowest rank names it
	variables []profile.Variable // as rank 0 has them
	run       *Run
}

// member is a process of a job, and where its profile is.
type member struct {
	run, program, host string
	library            string
	finalized          bool
	rank, pid, size    int
	start              int64
	from               origin
	index              int                // in from
	variables          []profile.Variable // of rank 0
}

// origin is where profiles come from.
type origin interface{ single() bool }

// one is the path of a recording.
type one string

// met is a profile that was kept: its recording may have changed since.
type met struct{ p *profile.Profile }

// many is a source of several.
type many struct{ src profile.Source }

func (one) single() bool   { return true }
func (met) single() bool   { return true }
func (*many) single() bool { return false }

func originOf(path string, p *profile.Profile, depth Depth) origin {
	if depth == Whole && p.State != profile.Finalized {
		return met{p}
	}
	return one(path)
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

// info describes the job for run.json.
func (j *Job) info() JobInfo {
	return JobInfo{Run: j.Run, Program: j.Stem, Size: j.Size, Recorded: j.Processes, StartNs: j.Start, Library: j.library, Variables: j.variables}
}

// Loaded are the files that the process of the lowest rank had loaded, as far
// as they are known.
func (j *Job) Loaded() []string {
	var files []string
	_ = j.Each(func(p *profile.Profile) error { // what was read before can be read
		for _, m := range p.Modules {
			files = append(files, m.Path)
		}
		return errEnough
	})
	return files
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// sort puts the processes in order of their ranks, and names the job for the
// program of the lowest.
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

// Each gives the processes by rank, recordings being read several at a time.
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
		if from, ok := rest[0].from.(*many); ok {
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

// read gives the profile of a single origin. A recording may have been brought
// home since it was found in the spool.
func (m *member) read(home string) (*profile.Profile, error) {
	if kept, ok := m.from.(met); ok {
		p := *kept.p
		p.Comms = slices.Clone(p.Comms)
		return &p, nil
	}
	path := string(m.from.(one))
	p, err := recording.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && home != "" {
		return recording.ReadFile(filepath.Join(home, filepath.Base(path)))
	}
	return p, err
}

// each gives those of the source that are members, in the source's order.
func (m *many) each(members []member, give func(*profile.Profile) error) error {
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

package source

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/rundir"
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

	Members   []member
	finalized int                // number of processes that reached MPI_Finalize
	library   string             // version string of the MPI, from the process with the lowest rank
	variables []profile.Variable // from rank 0
	programs  text.ProgramList   // nil if there is only one
	Within    *Run
}

// member is a process of a job, and the place where its profile is stored. It has only one pointer:
// a run may have millions of members, and the garbage collector follows each pointer again and
// again.
type member struct {
	*memberKind
	start      int64
	rank, pid  int32
	Index      int32  // index of the profile in a fileSource
	nameStart  uint32 // of the recording's file name in names
	nameLength uint32
	finalized  bool
}

// memberKind is what many processes have in common.
type memberKind struct {
	memberKey
	variables *[]profile.Variable // only of rank 0
	names     []byte              // file names of the recordings
}

// memberKey tells kinds apart.
type memberKey struct {
	run, program, host string
	library            string
	size               int
	From               origin
}

// name returns the file name of the recording, in a directory or container.
func (m *member) name() string {
	return string(m.names[m.nameStart : m.nameStart+m.nameLength])
}

// member returns a process of the kind with its recording's file name.
func (k *memberKind) member(name string) member {
	m := member{memberKind: k, nameStart: uint32(len(k.names)), nameLength: uint32(len(name))}
	k.names = append(k.names, name...)
	return m
}

// origin is the place where profiles are stored. single reports whether they
// can be read one by one.
type origin interface{ single() bool }

// recordingDir is a directory, or a container, of recordings.
type recordingDir struct{ path string }

// keptProfile is a profile in memory. As many profiles are kept as there is room for. A kept
// profile is a consistent state of a recording that its process still changes.
type keptProfile struct{ Profile *profile.Profile }

// fileSource holds several profiles.
type fileSource struct{ src profile.Source }

func (*recordingDir) single() bool { return true }
func (keptProfile) single() bool   { return true }
func (*fileSource) single() bool   { return false }

func (r *Run) memberOf(p *profile.Profile, from origin, name string, index int) member {
	key := memberKey{run: p.Run, program: p.Name(), host: p.Host, library: p.LibraryLine(), size: p.Size, From: from}
	m := r.kindOf(key, p.Rank, p.Variables).member(name)
	m.start, m.rank, m.pid, m.Index, m.finalized = p.Start, int32(p.Rank), int32(p.Pid), int32(index), p.State == profile.Finalized
	return m
}

func (r *Run) memberOfHead(h *recording.Head, from *recordingDir) member {
	key := memberKey{run: h.Run, program: h.Program, host: h.Host, library: h.Library, size: h.Size, From: from}
	m := r.kindOf(key, h.Rank, h.Variables).member(h.Name)
	m.start, m.rank, m.pid, m.finalized = h.Start, int32(h.Rank), int32(h.Pid), h.Finalized
	return m
}

// kindOf returns the memberKind with this key. All members with equal keys share it.
func (r *Run) kindOf(key memberKey, rank int, variables []profile.Variable) *memberKind {
	if rank == 0 {
		return &memberKind{memberKey: key, variables: &variables}
	}
	known := r.kinds[key]
	if known == nil {
		if r.kinds == nil {
			r.kinds = map[memberKey]*memberKind{}
		}
		// The texts of a head are parts of the whole index, which they would keep in memory.
		key.run, key.program, key.host, key.library = strings.Clone(key.run), strings.Clone(key.program), strings.Clone(key.host), strings.Clone(key.library)
		known = &memberKind{memberKey: key}
		r.kinds[key] = known
	}
	return known
}

// note counts a process of the job.
func (j *Job) note(m *member) {
	j.Processes++
	if m.finalized {
		j.finalized++
	}
	j.Size = max(j.Size, m.size, int(m.rank)+1)
	if m.start < j.Start {
		j.Start = m.start
	}
	if m.variables != nil {
		j.variables = *m.variables
	}
}

// Info returns the description of the job for run.json.
func (j *Job) Info() rundir.JobInfo {
	return rundir.JobInfo{Run: j.Run, Program: j.Stem, Size: j.Size, Recorded: j.Processes, StartNs: j.Start, Library: j.library,
		Variables: j.variables, Programs: j.programs}
}

// Finalized reports whether all processes of the job have a recording and reached MPI_Finalize.
func (j *Job) Finalized() bool { return j.finalized == j.Processes && j.Processes >= j.Size }

// Only returns the job with only those processes for whose ranks keep returns true.
func (j *Job) Only(keep func(rank int) bool) *Job {
	out := *j
	out.Members = slices.DeleteFunc(slices.Clone(j.Members), func(m member) bool { return !keep(int(m.rank)) })
	return &out
}

// Loaded returns the paths of the files that the process with the lowest rank
// had loaded, as far as known.
func (j *Job) Loaded() []string {
	var files []string
	// source.Open has already read the profile without an error
	_ = j.Each(func(p *profile.Profile) error {
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
	slices.SortFunc(j.Members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.start, b.start), cmp.Compare(a.host, b.host), cmp.Compare(a.pid, b.pid))
	})
	j.Stem, j.programs = "mpi", programsOf(j.Members)
	for _, m := range j.Members {
		j.library = cmp.Or(j.library, m.library)
	}
	for _, m := range j.Members {
		if m.program != "" {
			j.Stem = text.FileName(filepath.Base(m.program))
			return
		}
	}
}

// programsOf returns the programs of a job that has several. A program may have different paths on
// different nodes.
func programsOf(members []member) (out text.ProgramList) {
	at := map[string]int{}
	for i := range members {
		name := filepath.Base(members[i].program)
		k, known := at[name]
		if !known {
			k = len(out)
			at[name], out = k, append(out, text.ProgramRanks{Program: name})
		}
		out[k].Ranks++
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// Each calls f with the profiles in order of rank. It reads several recordings
// at a time.
func (j *Job) Each(f func(*profile.Profile) error) error {
	bar := text.StartProgress(j.Within.Log, "reading "+j.Stem, len(j.Members))
	defer bar.Done()
	names := j.Within.names()
	give := func(p *profile.Profile) error {
		bar.Step()
		if err := j.complete(p, names); err != nil {
			return err
		}
		return f(p)
	}
	for rest := j.Members; len(rest) > 0; {
		from, n := placeOf(&rest[0]), 1
		for n < len(rest) && placeOf(&rest[n]) == from {
			n++
		}
		var err error
		if from == nil {
			err = j.Within.readRecordings(rest[:n], give)
		} else {
			err = from.each(pointersTo(rest[:n]), give)
		}
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// placeOf returns the source that gives several profiles in one walk; nil if profiles are read one
// by one.
func placeOf(m *member) (walk interface {
	each(iter.Seq[*member], func(*profile.Profile) error) error
}) {
	switch from := m.From.(type) {
	case *fileSource:
		return from
	case keptProfile:
		return keptProfiles{}
	}
	return nil
}

func pointersTo(members []member) iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for i := range members {
			if !yield(&members[i]) {
				return
			}
		}
	}
}

// complete adds to a profile what is known only from the whole run.
func (j *Job) complete(p *profile.Profile, names *siteNames) error {
	p.Run = j.Run
	if exit, seen := j.Within.Exits[filepath.Base(p.Source)]; seen {
		p.Exit = exit
	}
	j.Within.Folds.Unify(p)
	if names != nil {
		names.give(p, j.Start)
	}
	if j.Within.Symbols != nil || names != nil {
		if names == nil {
			p.Symbols = j.Within.Symbols
		}
		j.Within.Wraps.Skip(p)
	}
	if j.Within.Also != nil {
		return j.Within.Also(j, p)
	}
	return nil
}

// EachPart calls f with the profiles, several at a time, as profile.Parts defines. It reads
// the recordings of a container one after the other.
func (j *Job) EachPart(n int, f func(part int, p *profile.Profile) error) error {
	bar := text.StartProgress(j.Within.Log, "reading "+j.Stem, len(j.Members))
	defer bar.Done()
	shares := j.shares()
	var next atomic.Int64
	var g errgroup.Group
	for part := range n {
		names := j.Within.names()
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(shares) {
					return nil
				}
				err := j.eachOf(shares[i], func(p *profile.Profile) error {
					err := j.complete(p, names)
					if err == nil {
						err = f(part, p)
					}
					if _, read := j.Members[shares[i][0]].From.(*recordingDir); read {
						recording.Release(p)
					}
					return err
				})
				if err != nil {
					next.Store(int64(len(shares))) // the others end, too
					return err
				}
				bar.Add(len(shares[i]))
			}
		})
	}
	return g.Wait()
}

// eachOf calls give with the profiles of a share.
func (j *Job) eachOf(share []int32, give func(*profile.Profile) error) error {
	if from := placeOf(&j.Members[share[0]]); from != nil {
		return from.each(j.membersOf(share), give)
	}
	for m := range j.membersOf(share) {
		p, err := j.Within.read(m)
		if p != nil {
			err = give(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) membersOf(share []int32) iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for _, i := range share {
			if !yield(&j.Members[i]) {
				return
			}
		}
	}
}

// mostInShare is the largest number of recordings of a share.
const mostInShare = 128

// shares divides the members, by their index, into groups that are read one after the other: all
// members in a file with several profiles, or up to mostInShare members in a directory or
// container.
func (j *Job) shares() [][]int32 {
	byOrigin := map[origin][]int32{}
	var order []origin
	var shares [][]int32
	for i := range j.Members {
		from := j.Members[i].From
		if _, kept := from.(keptProfile); kept {
			from = keptProfile{} // all together
		}
		if byOrigin[from] == nil {
			order = append(order, from)
		}
		byOrigin[from] = append(byOrigin[from], int32(i))
	}
	for _, from := range order {
		most := mostInShare
		if !from.single() {
			most = len(byOrigin[from])
		}
		for share := range slices.Chunk(byOrigin[from], most) {
			shares = append(shares, share)
		}
	}
	return shares
}

func (r *Run) readRecordings(members []member, give func(*profile.Profile) error) error {
	return profile.ReadAhead(len(members), 1, func(i int, deliver func(*profile.Profile) error) error {
		p, err := r.read(&members[i])
		if p == nil {
			return err
		}
		return deliver(p)
	}, func(_ int, p *profile.Profile) error { return give(p) })
}

// read returns the profile of a single origin, with its physical traffic. If the run was
// opened with depth Once, it returns nil, and no error, for a recording that cannot be read,
// and notes the damage.
func (r *Run) read(m *member) (*profile.Profile, error) {
	p, err := m.read(r.Home)
	if err != nil && r.once != nil {
		r.once.note(err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p.Physical = r.physicalOf(p)
	return p, nil
}

// read returns the profile of a single origin. The recording may have been
// collected since it was found in the spool, or packed.
func (m *member) read(home *home) (*profile.Profile, error) {
	if kept, ok := m.From.(keptProfile); ok {
		return kept.read(), nil
	}
	name := m.name()
	p, err := recording.ReadFile(filepath.Join(m.From.(*recordingDir).path, name))
	if !errors.Is(err, os.ErrNotExist) || home == nil {
		return p, err
	}
	return recording.ReadFile(home.find(name))
}

// read returns a copy of the profile, because Job.complete changes the profile that it is given.
func (k keptProfile) read() *profile.Profile {
	p := *k.Profile
	p.Comms = slices.Clone(p.Comms)
	return &p
}

// keptProfiles are profiles in memory.
type keptProfiles struct{}

func (keptProfiles) each(members iter.Seq[*member], give func(*profile.Profile) error) error {
	for m := range members {
		if err := give(m.From.(keptProfile).read()); err != nil {
			return err
		}
	}
	return nil
}

// each calls give with the profiles of the given members, in the source's order.
func (m *fileSource) each(members iter.Seq[*member], give func(*profile.Profile) error) error {
	wanted := map[int32]bool{}
	for of := range members {
		wanted[of.Index] = true
	}
	i := int32(-1)
	return m.src.Each(func(p *profile.Profile) error {
		if i++; !wanted[i] {
			return nil
		}
		return give(p)
	})
}

// jobNames assigns names to jobs that the launcher gave the same name.
type jobNames struct {
	name  string
	n     int            // number of earlier jobs
	ranks map[int32]bool // ranks of the current job
}

// add returns the name of the job to which the next process belongs. A process
// that ended before it knew its rank has rank -1; a job may have many of these.
func (r *jobNames) add(rank int32) string {
	if rank >= 0 && r.ranks[rank] {
		r.n++
		clear(r.ranks)
	}
	r.ranks[rank] = true
	switch {
	case r.n == 0 && r.name != "":
		return r.name
	case r.name == "":
		return fmt.Sprintf("job%d", r.n+1)
	}
	return fmt.Sprintf("%s-%d", r.name, r.n+1)
}

// splitJobs divides the processes into jobs. Some launchers use the same name
// for several jobs and some provide no name, so a rank that occurs a second
// time begins a new job.
func (r *Run) splitJobs(members []member) {
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.start, b.start) })
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
		j.Members = make([]member, 0, j.Processes)
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

// FollowKept updates where the recordings of kept profiles are, after they were packed.
func (r *Run) FollowKept() {
	for _, j := range r.Jobs {
		for i := range j.Members {
			kept, ok := j.Members[i].From.(keptProfile)
			if ok && r.Home != nil && !rundir.Exists(recording.FileOf(kept.Profile.Source)) {
				kept.Profile.Source = r.Home.find(filepath.Base(kept.Profile.Source))
			}
		}
	}
}

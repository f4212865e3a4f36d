package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/internal/tasks"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// merger writes the tables of a run. It does so in four stages of tasks, which
// processes share (see package tasks):
//
//	notes.<n>  what must be known of all processes before any row is written,
//	           of some recordings
//	plan       what follows from all notes: jobs, dictionaries, names of call sites
//	unit.<n>   the parts of all tables that come from some processes
//	end        joins the units
//
// Each recording is read twice, for its notes and for its unit. Which recordings
// belong together depends on the run only, not on the number of processes.
type merger struct {
	dir     Dir
	files   []string // recordings
	size    int      // recordings of a unit
	run     *Run     // gets the jobs from the plan
	kept    map[string]*profile.Profile
	share   tasks.Share
	workers int
	tasks   *tasks.Dir
	plan    *plan
	blobs   [][]byte // encoded planMembers, by unit
	planned *Run     // the jobs of the plan, without their processes
	writers sync.Pool
	before  func() error
	failed  error // result of before
	bar     *text.Progress
}

// afterTask is called after each task. Tests set it.
var afterTask = func(string) error { return nil }

// A unit has at least minUnit and at most maxUnit recordings, and a run about
// wantedUnits units, if that is possible: enough for several processes, and few
// record batches.
const (
	maxUnit     = 1024
	wantedUnits = 32
)

var minUnit = 256 // tests set it

func newMerger(d Dir, files []string, run *Run, share tasks.Share) *merger {
	m := &merger{dir: d, files: files, run: run, share: share, kept: map[string]*profile.Profile{}}
	m.size = min(max((len(files)+wantedUnits-1)/wantedUnits, minUnit), maxUnit)
	m.workers = runtime.GOMAXPROCS(0)
	for _, j := range run.Jobs {
		for i := range j.members {
			if kept, ok := j.members[i].from.(keptProfile); ok {
				m.kept[filepath.Base(kept.p.Source)] = kept.p
			}
		}
	}
	return m
}

// names returns the names of the tasks of a stage for n recordings or processes.
func (m *merger) names(stage string, n int) []string {
	names := make([]string, (n+m.size-1)/m.size)
	for i := range names {
		names[i] = fmt.Sprintf("%s.%d", stage, i)
	}
	return names
}

// work writes the tables. before is called in the process that writes them,
// first; if it fails, they are written all the same. done is false if another
// process has written them.
func (m *merger) work(before func() error) (done bool, err error) {
	path, err := m.directory()
	if err != nil {
		return false, err
	}
	m.before = before
	m.bar = text.StartProgress(m.run.log, "merging", 2*len(m.files))
	defer m.bar.Done()
	m.tasks = tasks.Open(path, m.share)
	defer m.tasks.Close()
	notes := m.names("notes", len(m.files))
	if err := m.do(notes, m.writeNotes); err != nil {
		return false, err
	}
	if err := m.do([]string{"plan"}, func(_ int, w io.Writer) error { return m.writePlan(w, notes) }); err != nil {
		return false, err
	}
	if err := m.readPlan(); err != nil {
		return false, err
	}
	units := m.names("unit", m.plan.Processes)
	if err := m.do(units, m.writeUnit); err != nil {
		return false, err
	}
	err = m.do([]string{"end"}, func(int, io.Writer) error {
		done = true
		return m.join(units)
	})
	if err == nil || done { // otherwise units that do not fit together would stay
		m.removeTasks()
	}
	return done, errors.Join(m.failed, err)
}

func (m *merger) do(names []string, task func(int, io.Writer) error) error {
	return m.tasks.Do(names, m.workers, task, func(name string) error {
		if len(names) > 1 || name == "end" {
			m.bar.Add(m.size)
		}
		return afterTask(name)
	})
}

// taskDirectories matches the directories of tasks in a run directory.
const taskDirectories = "merge.*.part"

// directory makes the directory of tasks. Its name depends on the recordings
// and on how processes ended, so that tasks of another state are not used.
func (m *merger) directory() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, table.FormatVersion, notesVersion, m.size, len(m.files))
	for _, file := range append(stored(m.files), m.dir.physicalFiles()...) {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(sum, "%q %d %d\n", filepath.Base(file), info.Size(), info.ModTime().UnixNano())
		}
	}
	exits, err := json.Marshal(m.run.exits)
	if err != nil {
		return "", err
	}
	sum.Write(exits)
	path := filepath.Join(string(m.dir), fmt.Sprintf("merge.%x.part", sum.Sum(nil)[:8]))
	err = os.Mkdir(path, 0o777)
	if err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("make directory for the merge: %w", err)
	}
	return path, checkPlanted(path)
}

// removeTasks removes the directories of tasks of this run, also those of other
// states of its recordings.
func (m *merger) removeTasks() {
	dirs, _ := filepath.Glob(filepath.Join(escape(string(m.dir)), taskDirectories)) // the pattern is well formed
	for _, dir := range dirs {
		tasks.Remove(dir)
	}
}

// read returns the profile of a recording, with what is known of its process.
func (m *merger) read(file string) (*profile.Profile, error) {
	of := member{from: &recordingDir{filepath.Dir(file)}, name: filepath.Base(file)}
	if kept := m.kept[of.name]; kept != nil {
		of.from = keptProfile{kept}
	}
	p, err := of.read(m.run.home)
	if p != nil {
		p.Physical = m.run.physical(p)
		if exit, seen := m.run.exits[filepath.Base(p.Source)]; seen {
			p.Exit = exit
		}
	}
	return p, err
}

// reading is the result of reading a recording.
type reading struct {
	p   *profile.Profile
	err error
}

// eachReading calls f with what is read from n files. A single unit is read
// several files at a time; of several, each by one worker.
func (m *merger) eachReading(n int, file func(int) string, f func(int, reading) error) error {
	if len(m.files) > m.size && m.workers > 1 {
		for i := range n {
			p, err := m.read(file(i))
			if err := f(i, reading{p, err}); err != nil {
				return err
			}
		}
		return nil
	}
	return profile.ReadAhead(n, 1, func(i int, give func(reading) error) error {
		p, err := m.read(file(i))
		return give(reading{p, err})
	}, f)
}

// notesVersion changes when notes, plans or units change.
const notesVersion = 1

// notes is what must be known of some recordings.
type notes struct {
	Kinds   []kindNote
	Members []memberNote
	Reduced []*profile.Profile // see table.Reducer
	Of      []int32            // members of Reduced, by index
	Folds   profile.Folds
	Damaged []string
	HasRead bool // whether a process has read performance variables
}

// kindNote is what processes have in common.
type kindNote struct {
	Run, Host, Program, Library string
	Command                     []string
	Size                        int
	Variables                   []profile.Variable // only of rank 0
}

// memberNote is a process.
type memberNote struct {
	File      int32 // index in merger.files
	Kind      int32
	Rank, Pid int32
	Start     int64
	State     profile.State
}

// profile returns the profile of a process, as far as notes have it.
func (n *notes) profile(m *memberNote) *profile.Profile {
	kind := &n.Kinds[m.Kind]
	return &profile.Profile{Run: kind.Run, Host: kind.Host, Program: kind.Program, Library: kind.Library, Command: kind.Command, Size: kind.Size,
		Variables: kind.Variables, Rank: int(m.Rank), Pid: int(m.Pid), Start: m.Start, State: m.State}
}

// kindKey is a kindNote as a key.
type kindKey struct {
	run, host, program, library, command string
	size                                 int
	first                                bool // rank 0
}

// notesMaker makes notes.
type notesMaker struct {
	notes
	kinds   map[kindKey]int32
	reducer *table.Reducer
}

func (m *merger) writeNotes(unit int, w io.Writer) error {
	first, end := unit*m.size, min((unit+1)*m.size, len(m.files))
	made := &notesMaker{kinds: map[kindKey]int32{}, reducer: table.NewReducer()}
	err := m.eachReading(end-first, func(i int) string { return m.files[first+i] }, func(i int, r reading) error {
		p, err := r.p, r.err
		if err == nil {
			err = Damage(p)
		}
		if err != nil {
			made.Damaged = append(made.Damaged, err.Error())
		}
		if p != nil && (err == nil || p.Run != "") {
			made.add(p, first+i)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return gob.NewEncoder(w).Encode(&made.notes)
}

func (n *notesMaker) add(p *profile.Profile, file int) {
	n.Folds.Note(p)
	n.HasRead = n.HasRead || len(p.Readings) > 0
	if reduced := n.reducer.Reduce(p); reduced != nil {
		n.Reduced, n.Of = append(n.Reduced, reduced), append(n.Of, int32(len(n.Members)))
	}
	key := kindKey{p.Run, p.Host, p.Program, p.Library, strings.Join(p.Command, "\x00"), p.Size, p.Rank == 0}
	at, known := n.kinds[key]
	if !known || p.Rank == 0 {
		at = int32(len(n.Kinds))
		n.kinds[key] = at
		n.Kinds = append(n.Kinds, kindNote{p.Run, p.Host, p.Program, p.Library, p.Command, p.Size, nil})
	}
	if p.Rank == 0 {
		n.Kinds[at].Variables = p.Variables
	}
	n.Members = append(n.Members, memberNote{int32(file), at, int32(p.Rank), int32(p.Pid), p.Start, p.State})
}

// plan is what follows from the notes of all recordings. In its file, it is
// followed by the planMembers of each unit.
type plan struct {
	Tables    *table.Dictionaries
	Jobs      []plannedJob
	Infos     []JobInfo
	Processes int
	Folds     profile.Folds
	Wraps     profile.Wrappers
	Symbols   []namedPlace
	HasRead   bool
	Problems  []string
	Blobs     []int // lengths in bytes
}

// plannedJob is a job without its processes.
type plannedJob struct {
	Run, Stem string
	Start     int64
}

type namedPlace struct {
	profile.Place
	profile.Symbol
}

// planMember is a process of a unit.
type planMember struct{ Job, File int32 }

// planner makes a plan.
type planner struct {
	*merger
	plan
	notes   []notes
	members []member // index is that of the recording
	of      []*memberNote
	unitOf  []*notes // by index of the recording
	jobOf   []int32
}

func (m *merger) writePlan(w io.Writer, names []string) error {
	p := &planner{merger: m, of: make([]*memberNote, len(m.files)), unitOf: make([]*notes, len(m.files)), jobOf: make([]int32, len(m.files))}
	p.notes = make([]notes, len(names))
	for i, name := range names {
		err := m.tasks.Read(name, func(r *io.SectionReader) error { return gob.NewDecoder(r).Decode(&p.notes[i]) })
		if err != nil {
			return err
		}
		p.note(&p.notes[i])
	}
	jobs := new(Run)
	for file, note := range p.of {
		if note != nil {
			p.members = append(p.members, jobs.memberOf(p.unitOf[file].profile(note), nil, "", file))
		}
	}
	jobs.splitJobs(p.members)
	for i, j := range jobs.Jobs {
		p.Jobs, p.Infos = append(p.Jobs, plannedJob{j.Run, j.Stem, j.Start}), append(p.Infos, j.info())
		for k := range j.members {
			p.jobOf[j.members[k].index] = int32(i)
		}
	}
	if err := p.collect(jobs); err != nil {
		return err
	}
	return p.write(w, jobs)
}

func (p *planner) note(n *notes) {
	p.Processes += len(n.Members)
	p.Problems = append(p.Problems, n.Damaged...)
	p.HasRead = p.HasRead || n.HasRead
	for fold := range n.Folds {
		p.Folds.Add(fold)
	}
	for i := range n.Members {
		file := n.Members[i].File
		p.of[file], p.unitOf[file] = &n.Members[i], n
	}
}

// reduced returns the reduced profiles, with their jobs.
func (p *planner) reduced(jobs *Run) iter.Seq2[*Job, *profile.Profile] {
	return func(yield func(*Job, *profile.Profile) bool) {
		for i := range p.notes {
			n := &p.notes[i]
			for k, of := range n.Of {
				if !yield(jobs.Jobs[p.jobOf[n.Members[of].File]], n.Reduced[k]) {
					return
				}
			}
		}
	}
}

// collect finds names of call sites and wrappers, and collects dictionaries.
func (p *planner) collect(jobs *Run) error {
	var sites symbolize.Sites
	for j, reduced := range p.reduced(jobs) {
		sites.Add(reduced, j.Start)
		p.Wraps.Note(reduced)
	}
	symbols := p.run.symbols
	if symbols == nil {
		var errs []error
		symbols, errs = sites.Symbols(p.dir.Known())
		for _, err := range errs {
			p.Problems = append(p.Problems, err.Error())
		}
	}
	p.Wraps.Find(symbols)
	for place := range sites.Places() {
		if name, ok := symbols[place]; ok {
			p.Symbols = append(p.Symbols, namedPlace{place, name})
		}
	}
	slices.SortFunc(p.Symbols, func(a, b namedPlace) int { return a.Place.Compare(b.Place) })
	words := table.NewVocabulary()
	for _, j := range jobs.Jobs {
		for i := range j.members {
			file := j.members[i].index
			process := p.unitOf[file].profile(p.of[file])
			process.Run = j.Run
			words.NoteProcess(process)
		}
	}
	jobs.folds, jobs.wraps, jobs.symbols, jobs.exits = p.Folds, p.Wraps, symbols, p.run.exits
	for j, reduced := range p.reduced(jobs) {
		j.complete(reduced, nil)
		if err := words.Note(reduced); err != nil {
			return err
		}
	}
	p.Tables = words.Dictionaries()
	return nil
}

// write writes the plan: its length in 8 bytes, the plan, and the processes of
// each unit.
func (p *planner) write(w io.Writer, jobs *Run) error {
	var members []planMember
	for i, j := range jobs.Jobs {
		for k := range j.members {
			members = append(members, planMember{int32(i), j.members[k].index})
		}
	}
	var blobs bytes.Buffer
	for unit := range slices.Chunk(members, p.size) {
		before := blobs.Len()
		if err := gob.NewEncoder(&blobs).Encode(unit); err != nil {
			return err
		}
		p.Blobs = append(p.Blobs, blobs.Len()-before)
	}
	var head bytes.Buffer
	if err := gob.NewEncoder(&head).Encode(&p.plan); err != nil {
		return err
	}
	length := binary.LittleEndian.AppendUint64(nil, uint64(head.Len()))
	for _, part := range [][]byte{length, head.Bytes(), blobs.Bytes()} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// readPlan reads the plan into m.run.
func (m *merger) readPlan() error {
	m.plan, m.blobs = new(plan), nil
	err := m.tasks.Read("plan", func(r *io.SectionReader) error {
		raw := make([]byte, r.Size())
		if _, err := io.ReadFull(r, raw); err != nil {
			return err
		}
		length := binary.LittleEndian.Uint64(raw)
		head, rest := raw[8:8+length], raw[8+length:]
		if err := gob.NewDecoder(bytes.NewReader(head)).Decode(m.plan); err != nil {
			return err
		}
		for _, n := range m.plan.Blobs {
			m.blobs = append(m.blobs, rest[:n])
			rest = rest[n:]
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read plan of the merge: %w", err)
	}
	m.planned = m.jobs()
	return nil
}

// jobs returns a run with the jobs of the plan, without their processes.
func (m *merger) jobs() *Run {
	r := &Run{log: m.run.log, home: m.run.home, exits: m.run.exits, physicalDir: m.run.physicalDir, folds: m.plan.Folds, wraps: m.plan.Wraps,
		symbols: profile.Symbols{}}
	for _, s := range m.plan.Symbols {
		r.symbols[s.Place] = s.Symbol
	}
	for _, j := range m.plan.Jobs {
		r.Jobs = append(r.Jobs, &Job{Run: j.Run, Stem: j.Stem, Start: j.Start, run: r})
	}
	return r
}

func (m *merger) members(unit int) (members []planMember, err error) {
	err = gob.NewDecoder(bytes.NewReader(m.blobs[unit])).Decode(&members)
	return members, err
}

func (m *merger) writeUnit(unit int, w io.Writer) error {
	members, err := m.members(unit)
	if err != nil {
		return err
	}
	out, _ := m.writers.Get().(*table.UnitWriter)
	if out == nil {
		out = table.NewUnitWriter(m.plan.Tables)
	}
	out.Start(w, unit*m.size)
	err = m.eachReading(len(members), func(i int) string { return m.files[members[i].File] }, func(i int, r reading) error {
		if r.err != nil {
			return r.err
		}
		m.planned.Jobs[members[i].Job].complete(r.p, nil)
		return out.Add(r.p)
	})
	if err == nil {
		err = out.End()
	}
	if err == nil {
		m.writers.Put(out)
	}
	return err
}

// join writes the tables. It writes the readings of variables only if there are
// any.
func (m *merger) join(units []string) error {
	if m.before != nil {
		m.failed = m.before()
	}
	paths := []string{m.dir.Profile(), m.dir.Comms(), m.dir.Ranks()}
	if m.plan.HasRead {
		paths = append(paths, m.dir.Pvars())
	}
	return atomicfile.WriteAll(paths, func(w []io.Writer) error {
		var pvars io.Writer
		if m.plan.HasRead {
			pvars = w[3]
		}
		return table.JoinUnits(w[0], w[1], w[2], pvars, m.plan.Tables, func(f func(*io.SectionReader) error) error {
			for _, unit := range units {
				if err := m.tasks.Read(unit, f); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/tasks"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// merger writes the tables of a run. It does so in stages of tasks, which
// processes share (see package tasks):
//
//	notes.<n>   what must be known of all processes before any row is written,
//	            of some recordings
//	joined.<n>  notes of several notes.<n>, without what is in them twice
//	plan        what follows from all notes: jobs, dictionaries, names of call sites
//	unit.<n>    the parts of all tables that come from some processes
//	end         joins the units
//
// Each recording is read twice, for its notes and for its unit. Which recordings
// belong together depends on the run only, not on the number of processes.
type merger struct {
	dir     rundir.Dir
	files   []string    // recordings
	size    int         // recordings of a unit
	run     *source.Run // gets the jobs from the plan
	kept    map[string]*profile.Profile
	share   tasks.Share
	workers int
	tasks   *tasks.Dir
	plan    *plan
	blobs   [][]byte    // encoded planMembers, by unit
	planned *source.Run // the jobs of the plan, without their processes
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

func newMerger(d rundir.Dir, files []string, run *source.Run, share tasks.Share) *merger {
	m := &merger{dir: d, files: files, run: run, share: share, kept: map[string]*profile.Profile{}}
	if run.State == "" {
		run.State = d.State(files)
	}
	m.size = min(max((len(files)+wantedUnits-1)/wantedUnits, minUnit), maxUnit)
	m.workers = runtime.GOMAXPROCS(0)
	for _, j := range run.Jobs {
		for i := range j.Members {
			if kept, ok := j.Members[i].From.(source.KeptProfile); ok {
				m.kept[filepath.Base(kept.Profile.Source)] = kept.Profile
			}
		}
	}
	return m
}

// notesJoined is the number of notes that are joined at a time.
const notesJoined = 8

// numbered returns the names of the tasks of a stage with n inputs, of which
// each task has size.
func numbered(stage string, n, size int) []string {
	names := make([]string, (n+size-1)/size)
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
	m.bar = text.StartProgress(m.run.Log, "merging", 2*len(m.files))
	defer m.bar.Done()
	m.tasks = tasks.Open(path, m.share)
	defer m.tasks.Close()
	notes := numbered("notes", len(m.files), m.size)
	if err := m.do(notes, m.writeNotes); err != nil {
		return false, err
	}
	joined := numbered("joined", len(notes), notesJoined)
	if err := m.do(joined, func(i int, w io.Writer) error {
		return m.joinNotes(notes[i*notesJoined:min((i+1)*notesJoined, len(notes))], w)
	}); err != nil {
		return false, err
	}
	if err := m.do([]string{"plan"}, func(_ int, w io.Writer) error { return m.writePlan(w, joined) }); err != nil {
		return false, err
	}
	if err := m.readPlan(); err != nil {
		return false, err
	}
	if m.plan.Processes == 0 { // a table without rows would not tell that anything was there
		m.removeTasks()
		return false, fmt.Errorf("no recording can be read: %s", strings.Join(m.plan.Damaged, "; "))
	}
	units := numbered("unit", m.plan.Processes, m.size)
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
	return m.tasks.Do(names, m.workers, task, afterTask)
}

// taskDirectories matches the directories of tasks in a run directory.
const taskDirectories = "merge.*.part"

// directory makes the directory of tasks. Its name depends on the recordings
// and on how processes ended, so that tasks of another state are not used.
func (m *merger) directory() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, table.FormatVersion, notesVersion, m.size, len(m.files))
	fmt.Fprintln(sum, m.run.State)
	exits, err := json.Marshal(m.run.Exits)
	if err != nil {
		return "", err
	}
	sum.Write(exits)
	path := filepath.Join(string(m.dir), fmt.Sprintf("merge.%x.part", sum.Sum(nil)[:8]))
	return path, tasks.Make(path)
}

// removeTasks removes the directories of tasks of this run, also those of other
// states of its recordings.
func (m *merger) removeTasks() {
	dirs, _ := filepath.Glob(filepath.Join(rundir.Escape(string(m.dir)), taskDirectories)) // the pattern is well formed
	for _, dir := range dirs {
		tasks.Remove(dir)
	}
}

// read returns the profile of a recording, with what is known of its process.
func (m *merger) read(file string) (*profile.Profile, error) {
	var p *profile.Profile
	var err error
	if kept := m.kept[filepath.Base(file)]; kept != nil {
		p = source.KeptProfile{Profile: kept}.Read()
	} else {
		of := source.MemberAt(file)
		p, err = of.Read(m.run.Home)
	}
	if p != nil {
		p.Physical = m.run.Physical(p)
		if exit, seen := m.run.Exits[filepath.Base(p.Source)]; seen {
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
	defer m.bar.Add(n)
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

// readPlan reads the plan into m.run.
func (m *merger) readPlan() error {
	m.plan, m.blobs = new(plan), nil
	err := m.tasks.Read("plan", func(r *io.SectionReader) error {
		if r.Size() > maxPlan {
			return fmt.Errorf("it has %d bytes, more than the %d that a plan may have", r.Size(), maxPlan)
		}
		raw := make([]byte, r.Size())
		if _, err := io.ReadFull(r, raw); err != nil {
			return err
		}
		return m.parsePlan(raw)
	})
	if err != nil {
		return fmt.Errorf("read plan of the merge: %w", err)
	}
	m.planned = m.jobs()
	return nil
}

// maxPlan is the largest size of a plan, in bytes. That of a million processes
// has some 100 MB.
const maxPlan = 4 << 30

var errPlan = errors.New("its lengths do not fit")

func (m *merger) parsePlan(raw []byte) error {
	if len(raw) < planHead {
		return errPlan
	}
	length, rest := binary.LittleEndian.Uint64(raw), raw[planHead:]
	if length > uint64(len(rest)) {
		return errPlan
	}
	if err := gob.NewDecoder(bytes.NewReader(rest[:length])).Decode(m.plan); err != nil {
		return err
	}
	rest = rest[length:]
	for _, n := range m.plan.Blobs {
		if n < 0 || n > len(rest) {
			return errPlan
		}
		m.blobs, rest = append(m.blobs, rest[:n]), rest[n:]
	}
	if units := (m.plan.Processes + m.size - 1) / m.size; m.plan.Processes < 0 || len(m.blobs) > units {
		return errPlan
	}
	return nil
}

// jobs returns a run with the jobs of the plan, without their processes.
func (m *merger) jobs() *source.Run {
	r := &source.Run{Log: m.run.Log, Home: m.run.Home, Exits: m.run.Exits, PhysicalDir: m.run.PhysicalDir, Folds: m.plan.Folds, Wraps: m.plan.Wraps,
		Symbols: profile.Symbols{}}
	for _, s := range m.plan.Symbols {
		r.Symbols[s.Place] = s.Symbol
	}
	for _, j := range m.plan.Jobs {
		r.Jobs = append(r.Jobs, &source.Job{Run: j.Run, Stem: j.Stem, Start: j.Start, Within: r})
	}
	return r
}

func (m *merger) members(unit int) (members []planMember, err error) {
	if unit >= len(m.blobs) {
		return nil, errPlan
	}
	err = gob.NewDecoder(bytes.NewReader(m.blobs[unit])).Decode(&members)
	for _, of := range members {
		if err == nil && !(within(of.Job, len(m.plan.Jobs)) && within(of.File, len(m.files))) {
			err = errPlan
		}
	}
	return members, err
}

// within reports whether i is an index of a list of length n.
func within(i int32, n int) bool { return i >= 0 && int(i) < n }

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
		m.planned.Jobs[members[i].Job].Complete(r.p, nil)
		if unit == 0 && i == 0 {
			r.p.Lost = m.plan.Lost
		}
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
	paths = append(paths, m.dir.MergedFrom()) // is renamed last: if this is interrupted, the run is still stale
	return atomicfile.WriteAll(paths, func(w []io.Writer) error {
		if err := rundir.WriteMerged(w[len(w)-1], rundir.MergedState{Recordings: m.run.State, Damaged: m.plan.Damaged}); err != nil {
			return err
		}
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

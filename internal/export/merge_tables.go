package export

import (
	"cmp"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/tasks"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// merger writes the tables of a run, in tasks that processes share (see package
// tasks):
//
//	part.<n>  writes the tables of some processes of the run; the task's own
//	          file, a partNote, says what it wrote
//	end       joins the communicators of the parts, and moves the tables into the
//	          run directory
//
// The parts depend on the run only, not on the number of processes. Each
// recording is read once.
type merger struct {
	dir    rundir.Dir
	run    *source.Run
	share  tasks.Share
	n      int // processes
	size   int // processes of a part
	path   string
	tasks  *tasks.Directory
	stale  func() bool // whether the merged files have to be written; nil if they have
	before func(tables []string, notes []*partNote) error
	failed error // result of before
	bar    *text.Progress
}

// partNote describes the tables of a part. It is the content of the task's own file.
type partNote struct {
	Files     []partFile
	Processes int
	Comms     table.Comms
	Damaged   []string // recordings
	Unnamed   []string // files whose call sites have no names
	Names     profile.Symbols
}

// partFile is a file of a part. Its checksum tells whether a node that crashed has
// lost its content.
type partFile struct {
	Name string // relative to the run directory, in which the file finally is
	Sum  uint32
}

// afterTask is called after each task. Tests set it.
var afterTask = func(string) error { return nil }

// Parts have between minPart and maxPart processes, and a run about wantedParts
// parts, if that is possible: enough for several processes that merge, and files
// that are not too small. Up to MostMerged processes are one part. Tests
// set the variables.
const wantedParts = 64

var (
	onePart = source.MostMerged
	minPart = 1024
	maxPart = 8192
)

// mergeVersion changes when tasks or their files change.
const mergeVersion = 5

func newMerger(d rundir.Dir, run *source.Run, share tasks.Share) *merger {
	m := &merger{dir: d, run: run, share: share}
	for _, j := range run.Jobs {
		m.n += len(j.Members)
	}
	if m.size = max(m.n, 1); m.n > onePart {
		m.size = min(max((m.n+wantedParts-1)/wantedParts, minPart), maxPart)
	}
	return m
}

// parts returns the number of parts.
func (m *merger) parts() int { return (m.n + m.size - 1) / m.size }

// work writes the tables. In the process that writes them, before is called first; if it fails, the
// tables are written nevertheless. done is false if another process has written them.
func (m *merger) work(before func(tables []string, notes []*partNote) error) (done bool, err error) {
	if m.n == 0 { // a table without rows would not show that there were recordings
		return false, fmt.Errorf("no recording can be read: %s", strings.Join(texts(m.run.Damage()), "; "))
	}
	var made bool
	if m.path, made, err = m.directory(); err != nil {
		return false, err
	}
	if made && m.stale != nil && !m.stale() { // others had ended the merge and removed the directory
		tasks.Remove(m.path)
		return false, nil
	}
	m.before = before
	m.bar = text.StartProgress(m.run.Log, "merging", m.n)
	defer m.bar.Done()
	m.tasks = tasks.Open(m.path, m.share)
	defer m.tasks.Close()
	names := make([]string, m.parts())
	for i := range names {
		names[i] = fmt.Sprintf("part.%d", i)
	}
	if err := m.tasks.Do(names, runtime.GOMAXPROCS(0), m.writePart, afterTask); err != nil {
		return false, err
	}
	err = m.tasks.Do([]string{"end"}, 1, func(int, io.Writer) error {
		done = true
		return m.end(names)
	}, afterTask)
	if err == nil || done { // otherwise parts that do not belong together would stay
		m.removeTasks()
	}
	return done, errors.Join(m.failed, err)
}

// taskDirectories matches the directories of tasks in a run directory.
const taskDirectories = "merge.*.part"

// directory makes the directory of tasks. Its name depends on the recordings
// and on how processes ended, so that tasks of another state are not used.
func (m *merger) directory() (path string, made bool, err error) {
	sum := sha256.New()
	fmt.Fprintln(sum, table.FormatVersion, mergeVersion, m.size, m.n)
	fmt.Fprintln(sum, m.run.State)
	exits, err := json.Marshal(m.run.Exits)
	if err != nil {
		return "", false, err
	}
	sum.Write(exits)
	path = filepath.Join(string(m.dir), fmt.Sprintf("merge.%x.part", sum.Sum(nil)[:8]))
	made, err = tasks.Make(path)
	return path, made, err
}

// removeTasks removes the directories of tasks of this run, also those of other
// states of its recordings.
func (m *merger) removeTasks() {
	dirs, _ := filepath.Glob(filepath.Join(rundir.Escape(string(m.dir)), taskDirectories)) // the pattern is well formed
	for _, dir := range dirs {
		tasks.Remove(dir)
	}
}

// name returns the name of a table's file of a part, relative to the run
// directory.
func (m *merger) name(table string, part int) string {
	if m.parts() == 1 {
		return table + ".arrow"
	}
	digits := len(fmt.Sprint(m.parts() - 1))
	return filepath.Join(table, fmt.Sprintf("part-%0*d.arrow", digits, part)) // in the order of names, too
}

// written returns where a file of this name is written. All files are in the directory of tasks
// itself, so that a killed process leaves nothing in a directory that is moved.
func (m *merger) written(name string) string {
	return filepath.Join(m.path, strings.ReplaceAll(name, string(filepath.Separator), "."))
}

// writePart writes the tables of a part, and its note.
func (m *merger) writePart(part int, w io.Writer) error {
	var files atomicfile.Set
	defer files.Discard()
	note := &partNote{}
	var sums []func() uint32
	out := &table.PartWriter{Starts: map[string]int64{}, Scratch: string(m.dir), Create: func(table string, _ int) (io.WriteCloser, error) {
		name := m.name(table, part)
		file, err := files.Create(m.written(name))
		sum := summed{file, crc32.New(castagnoli)}
		note.Files, sums = append(note.Files, partFile{Name: name}), append(sums, sum.sum.Sum32)
		return sum, err
	}}
	for _, j := range m.run.Jobs {
		out.Starts[j.Run] = j.Began()
	}
	first := part * m.size
	if err := m.readPart(first, min(first+m.size, m.n), note, out); err != nil {
		return err
	}
	if err := cmp.Or(out.Close(), files.Commit()); err != nil {
		return err
	}
	for i, sum := range sums {
		note.Files[i].Sum = sum()
	}
	note.Comms, note.Unnamed, note.Names = out.Comms, texts(m.run.Unnamed()), m.run.Names()
	return gob.NewEncoder(w).Encode(note)
}

// summed is a file whose checksum is computed while it is written.
type summed struct {
	io.WriteCloser
	sum hash.Hash32
}

func (s summed) Write(p []byte) (int, error) {
	s.sum.Write(p)
	return s.WriteCloser.Write(p)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readPart adds the processes of a part to its tables. The damage of a recording that cannot be
// read is recorded with the process before it, or with the first process of the part.
func (m *merger) readPart(first, end int, note *partNote, out *table.PartWriter) error {
	var last *profile.Profile
	var lost []string
	if first == 0 {
		lost = m.run.Lost
	}
	err := m.run.EachOf(first, end, m.parts() == 1, func(p *profile.Profile, damage error) error {
		m.bar.Step()
		if damage != nil {
			note.Damaged = append(note.Damaged, damage.Error())
		}
		switch {
		case p == nil:
			lost = append(lost, damage.Error())
			return nil
		case last == nil:
			last = p
			return nil
		}
		last.Lost, lost = lost, nil
		err := out.Add(last)
		last = p
		note.Processes++
		return err
	})
	if err != nil || last == nil {
		return err
	}
	last.Lost = lost
	note.Processes++
	return out.Add(last)
}

package export

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/collect"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/tasks"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// RankFormat is a format in which each rank can be written.
type RankFormat string

const (
	Prof  RankFormat = "prof"
	Arrow RankFormat = "arrow"
)

// ParseFormats parses a list of format names.
func ParseFormats(names []string) ([]RankFormat, error) {
	var out []RankFormat
	for _, name := range names {
		f := RankFormat(name)
		if f != Prof && f != Arrow {
			return nil, fmt.Errorf("unknown format %q: the formats are %s and %s", name, Prof, Arrow)
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out, nil
}

// Merge writes the merged files of a run, the files of each rank in the given
// formats, and run.json with the jobs. If traced processes of a job ran on
// several hosts, estimate is called to correct their clocks.
func Merge(d rundir.Dir, run *source.Run, formats []RankFormat, info *rundir.Info, estimate ClockEstimator) error {
	var jobs []rundir.JobInfo
	for _, j := range run.Jobs {
		jobs = append(jobs, j.Info())
	}
	if len(formats) > 0 {
		ranks, err := NewRankFiles(d, formats)
		if err != nil {
			return err
		}
		for _, j := range run.Jobs {
			if err := j.Each(func(p *profile.Profile) error { return ranks.Write(j, p) }); err != nil {
				return err
			}
		}
	}
	return mergeTables(d, run, info, func(names profile.Symbols) error {
		err := writeEvents(d, run, jobs, names, info, estimate)
		run.FollowKept()
		return err
	})
}

// writeEvents writes the traces, the names of call sites that containers lack, and run.json.
// Writing traces may pack recordings: writeEvents sets run.State to the state of the recordings
// after that.
func writeEvents(d rundir.Dir, run *source.Run, jobs []rundir.JobInfo, names profile.Symbols, info *rundir.Info, estimate ClockEstimator) error {
	files, err := d.RecordingFiles()
	if err != nil {
		return err
	}
	run.State, err = afterPacking(d, files, run.State, func() error { return convert(d, run, jobs, names, info, estimate) })
	return err
}

func convert(d rundir.Dir, run *source.Run, jobs []rundir.JobInfo, names profile.Symbols, info *rundir.Info, estimate ClockEstimator) error {
	info.Jobs, info.WrongMPI = jobs, d.WrongMPI()
	err := writeTraces(d, run, estimate, nil)
	collect.AddNames(d, names)
	info.UnfinishedTraces = run.Traced.Left
	if run.Traced.Processes > 0 {
		info.TracedEvents = countTraced(d)
	}
	return errors.Join(err, d.WriteInfo(info))
}

// mergeTables writes the tables of a run, unless processes may still write to its recordings. If
// the recordings were removed, it leaves existing tables unchanged. In each case, it calls besides
// once, with the names of call sites if all are known.
func mergeTables(d rundir.Dir, run *source.Run, info *rundir.Info, besides func(profile.Symbols) error) error {
	files, err := d.RecordingFiles()
	if err == nil && len(files) > 0 {
		err = cmp.Or(checkEnded(d, files), checkElsewhere(d, files, info))
	}
	called := false
	if err == nil && len(files) > 0 {
		if run.State == "" {
			run.State = d.State(files)
		}
		_, err = newMerger(d, run, tasks.All).work(func(_ []string, notes []*partNote) error {
			called = true
			return besides(namesOf(notes))
		})
		if errors.Is(err, tasks.ErrGone) {
			err = nil // another process has merged the same recordings
		}
	}
	if !called {
		var names profile.Symbols
		if !run.ReadOnce() {
			names = run.Names()
		}
		err = errors.Join(besides(names), err)
	}
	return err
}

// Merged is the result of a merge.
type Merged struct {
	Jobs      []rundir.JobInfo
	Processes int
	Tables    []string // files and directories
	Traced    source.Traced
	Problems  []string // damaged and missing recordings, and files whose call sites have no names
}

// Text says what was written.
func (m *Merged) Text(d rundir.Dir) string {
	return fmt.Sprintf("merged %s of %s into %s in %s", text.CountOf(m.Processes, "process"), text.CountOf(len(m.Jobs), "job"),
		strings.Join(m.Tables, ", "), text.Line(string(d)))
}

// MergeShare merges a run together with other processes that call it, on any
// nodes. It returns when the merged files are complete. The result is nil if
// another process has written them, or if they were not stale. In the process
// that writes them, info is called first; it returns the content of run.json.
func MergeShare(d rundir.Dir, share tasks.Share, log io.Writer, info func() (*rundir.Info, error), estimate ClockEstimator) (*Merged, error) {
	for range mostRestarts {
		files, err := mergeable(d)
		if err != nil {
			return nil, err
		}
		if !d.StaleWith(files) {
			return nil, nil
		}
		state := d.State(files)
		run, err := source.Open([]string{string(d)}, source.Options{Depth: source.Once, Log: log, RunOnly: true})
		if err != nil {
			return nil, err
		}
		run.State = state
		var merged *Merged
		m := newMerger(d, run, share)
		m.stale = d.Stale
		_, err = m.work(func(tables []string, notes []*partNote) (err error) {
			merged, err = m.finish(tables, notes, info, estimate)
			return err
		})
		if !errors.Is(err, tasks.ErrGone) {
			return merged, err
		}
	}
	return nil, fmt.Errorf("merge %s: its recordings change: is the job still running?", d)
}

// mostRestarts is how often MergeShare begins again after other processes have removed the
// directory of tasks. Processes remove it when they have finished the merge.
const mostRestarts = 5

// mergeable returns the recordings of a run. It returns an error if there are none, or if some
// nodes would see other recordings than this one.
func mergeable(d rundir.Dir) ([]string, error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, rundir.InputErrorf("%w", err)
	} else if !info.IsDir() {
		return nil, rundir.InputErrorf("%s is a file, not a run directory", d)
	}
	info, err := d.ReadInfo()
	if err != nil {
		return nil, err
	}
	if left := info.LeftInSpool(); len(left) > 0 {
		return nil, fmt.Errorf("%s is not collected: the job is still running, or `mpitrace run` was killed; afterwards: %s", left[0], d.CollectCommand())
	}
	files, err := d.RecordingFiles()
	if err == nil && len(files) == 0 && !rundir.Exists(d.Profile()) {
		err = d.WhyEmpty()
	}
	if err == nil {
		err = checkEnded(d, files)
	}
	return files, err
}

// finish writes what is no table.
func (m *merger) finish(tables []string, notes []*partNote, readInfo func() (*rundir.Info, error), estimate ClockEstimator) (*Merged, error) {
	info, err := readInfo()
	if err != nil {
		return nil, err
	}
	merged := &Merged{Tables: tables, Problems: damageOf(m.run, notes)}
	for _, j := range m.run.Jobs {
		merged.Jobs = append(merged.Jobs, j.Info())
	}
	for _, note := range notes {
		merged.Processes += note.Processes
		merged.Problems = append(merged.Problems, note.Unnamed...)
	}
	merged.Problems = unique(merged.Problems)
	err = writeEvents(m.dir, m.run, merged.Jobs, namesOf(notes), info, estimate)
	merged.Traced = m.run.Traced
	return merged, err
}

// RankFiles writes files of ranks into a run directory.
type RankFiles struct {
	dir     rundir.Dir
	formats []RankFormat
}

// NewRankFiles makes a directory for each format.
func NewRankFiles(d rundir.Dir, formats []RankFormat) (*RankFiles, error) {
	for _, f := range formats {
		if err := rundir.MakeInside(filepath.Join(string(d), string(f)), 0o777); err != nil {
			return nil, err
		}
	}
	return &RankFiles{d, formats}, nil
}

// Write writes the files of a process.
func (r *RankFiles) Write(j *source.Job, p *profile.Profile) error {
	if p.Rank < 0 {
		return nil // ended before it had a rank, and so before it sent anything
	}
	for _, f := range r.formats {
		path := filepath.Join(string(r.dir), string(f), fmt.Sprintf("%s.%d.%s", j.Stem, p.Rank, f))
		if err := atomicfile.Write(path, func(w io.Writer) error { return writeRank(w, p, f) }); err != nil {
			return err
		}
	}
	return nil
}

func writeRank(w io.Writer, p *profile.Profile, f RankFormat) error {
	if f == Prof {
		return prof.Write(w, p.Traffic())
	}
	return table.WriteProfile(w, profile.List{p})
}

// afterPacking returns the state of a run's recordings after convert, which converts
// events and may pack recordings. before is the state of those that were read. If
// they have changed since, it returns before: the merged files are then stale.
func afterPacking(d rundir.Dir, files []string, before string, convert func() error) (string, error) {
	now, _ := d.RecordingFiles()
	unchanged := sameNames(files, now) && d.State(now) == before
	err := convert()
	if now, _ = d.RecordingFiles(); unchanged && sameNames(files, now) {
		return d.State(now), err
	}
	return before, err
}

// sameNames reports whether two lists have the recordings of the same processes.
func sameNames(a, b []string) bool {
	names := func(files []string) []string {
		out := make([]string, len(files))
		for i, file := range files {
			out[i] = filepath.Base(file)
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(names(a), names(b))
}

// NotEndedError reports that a run is not merged because processes may still write
// its recordings.
type NotEndedError struct{ error }

// checkEnded returns a NotEndedError if a process of this node still writes one of
// the recordings.
func checkEnded(d rundir.Dir, files []string) error {
	writers := rundir.RecordingWriters()
	n := 0
	for _, file := range files {
		if _, writes := writers[filepath.Base(file)]; writes {
			n++
		}
	}
	if n > 0 {
		return &NotEndedError{fmt.Errorf("%s of %s still running: merge it when it has ended; mpitrace report shows what is recorded so far", text.CountOf(n, "process"), d)}
	}
	return nil
}

// checkElsewhere returns a NotEndedError if a process of another node may still write one of
// the recordings: it is not complete, and no command is known to have ended.
func checkElsewhere(d rundir.Dir, files []string, info *rundir.Info) error {
	if info.ExitStatus != nil {
		return nil
	}
	for _, file := range rundir.Stored(files) {
		if host, ended := endedHere(file); !ended {
			return &NotEndedError{fmt.Errorf("a recording of %s is not complete, so its process may still run there; if it has ended: mpitrace merge %s",
				text.Line(host), text.ShellQuote(string(d)))}
		}
	}
	return nil
}

// endedHere reports whether all processes that wrote to a file, a recording or a container, are
// known to have ended. A process has ended if its recording is complete, or if it ran on this node
// and no longer maps the file. If ended is false, host is the host of the processes.
func endedHere(path string) (host string, ended bool) {
	here, _ := os.Hostname()
	if !strings.HasSuffix(path, recording.ContainerSuffix) {
		name := filepath.Base(path)
		pid := rundir.Writer(name)
		if pid == 0 || strings.HasPrefix(name, fmt.Sprintf("%s-%d-", here, pid)) { // checkEnded knows those of this node
			return here, true
		}
		host, _, _ = strings.Cut(name, fmt.Sprintf("-%d-", pid))
		return host, !isRecordingOfOwn(path) || collect.CanPack(path)
	}
	ended = true // nothing is known about a container that cannot be read
	_ = recording.WithContainer(path, func(c *recording.Container) error {
		var boot string
		host, boot = c.Node()
		local := host == here && boot == rundir.BootID()
		ended = c.Packed() || c.Complete() || local && !rundir.IsMapped(path)
		return nil
	})
	return host, ended
}

// isRecordingOfOwn reports whether a file is a recording in a file of its own, and not packed.
func isRecordingOfOwn(path string) bool {
	packed := true
	_ = atomicfile.ReadAt(path, "read", func(r io.ReaderAt, _ int64) error {
		head := make([]byte, len(layout.Magic))
		_, err := r.ReadAt(head, 0)
		packed = !bytes.Equal(head, layout.Magic[:])
		return err
	})
	return !packed
}

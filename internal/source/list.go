package source

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// Entry describes one run in a list of runs.
type Entry struct {
	Dir        string           `json:"dir"`
	Jobs       []rundir.JobInfo `json:"jobs"`                  // ordered by start time
	StartNs    int64            `json:"start_ns"`              // Unix ns
	WallNs     int64            `json:"wall_ns,omitempty"`     // run time of the command; 0 if not known
	ExitStatus *int             `json:"exit_status,omitempty"` // of the command; absent if mpitrace did not wait for it
	Finalized  bool             `json:"finalized"`             // whether every recorded process reached MPI_Finalize
	Bytes      int64            `json:"bytes"`                 // size of all files in the directory
}

// List returns the run directories in dir, including dir itself, latest first.
// errs has an error for each that cannot be read.
func List(dir string) (runs []Entry, errs []error) {
	found, err := rundir.RunsIn(dir)
	if errors.Is(err, syscall.ENOTDIR) {
		err = rundir.InputErrorf("%s is a file, not a directory of runs: mpitrace report shows it", dir)
	}
	if err != nil {
		return nil, []error{err}
	}
	if d := rundir.Dir(dir); d.Used() {
		found = slices.Insert(found, 0, d)
	}
	for _, d := range found {
		entry, err := entryOf(d)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		runs = append(runs, *entry)
	}
	slices.SortStableFunc(runs, func(a, b Entry) int { return cmp.Compare(b.StartNs, a.StartNs) })
	return runs, errs
}

// entryOf reads run.json. If that does not contain the run's end, it also reads
// the start of each recording.
func entryOf(d rundir.Dir) (*Entry, error) {
	info, err := d.ReadInfo()
	if err != nil {
		return nil, err
	}
	e := &Entry{Dir: string(d), Jobs: info.Jobs, WallNs: info.WallNs, ExitStatus: info.ExitStatus, Bytes: sizeOf(d)}
	if !info.Start.IsZero() {
		e.StartNs = info.Start.UnixNano()
	}
	e.Finalized = e.ExitStatus != nil && *e.ExitStatus == 0
	if len(e.Jobs) == 0 || e.ExitStatus == nil {
		run, err := Open([]string{string(d)}, Options{RunOnly: true})
		if err != nil {
			return nil, err
		}
		e.Jobs, e.Finalized = []rundir.JobInfo{}, len(run.Jobs) > 0
		for _, j := range run.Jobs {
			e.Jobs = append(e.Jobs, j.Info())
			e.Finalized = e.Finalized && j.Finalized()
		}
	}
	for i := range e.Jobs {
		e.Jobs[i].Variables = nil // long, and not shown in lists
		e.Jobs[i].Library = cmp.Or(e.Jobs[i].Library, info.MPIName())
	}
	if e.StartNs == 0 && len(e.Jobs) > 0 {
		e.StartNs = e.Jobs[0].StartNs
	}
	return e, nil
}

// sizeOf returns the size in bytes of all files in the directory.
func sizeOf(d rundir.Dir) (bytes int64) {
	filepath.WalkDir(string(d), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // files that cannot be read do not count
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

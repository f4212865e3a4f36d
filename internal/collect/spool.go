package collect

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/symbolize"
)

// OrphanWait is the longest time that Spool waits for processes that a launcher left running, for
// example because the launcher was killed.
const OrphanWait = 3 * time.Second

// Spool moves the recordings into dst and removes the spool. If processes are
// still running after the wait, it copies their recordings and leaves them in
// the spool. It continues after an error. left has the paths of the recordings
// that are still in the spool, because their processes are running or because
// of an error. If the spool cannot be read, left has the spool's path.
func Spool(s *rundir.Spool, dst string, wait time.Duration) (left []string, err error) {
	if err := atomicfile.CheckOwnDirectory(s.Dir); os.IsNotExist(err) {
		return nil, fmt.Errorf("collect recordings: %s: %w", s.Dir, fs.ErrNotExist)
	} else if err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	s.AwaitWriters(time.Now().Add(wait))
	if err := rundir.BringWrongMPI(s.Dir, dst); err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	names, err := s.Recordings()
	if err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	for i, name := range names {
		names[i] = filepath.Join(s.Dir, name)
	}
	if left, err = leftIn(s, fetch(names, dst, rundir.RecordingWriters())); err != nil || len(left) > 0 {
		return left, err
	}
	return removeSpool(s)
}

// removeSpool deletes the spool and everything in it except recordings, because a
// process may have begun to record after the others were collected. It is no
// error if the spool does not exist.
func removeSpool(s *rundir.Spool) (left []string, err error) {
	entries, err := os.ReadDir(s.Dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return []string{s.Dir}, fmt.Errorf("remove spool: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(s.Dir, e.Name())
		if rundir.IsRecording(e) {
			left = append(left, path)
		} else if err := os.RemoveAll(path); err != nil {
			return []string{s.Dir}, fmt.Errorf("remove spool: %w", err)
		}
	}
	if len(left) > 0 {
		return left, nil
	}
	if err := os.Remove(s.Dir); err != nil && !os.IsNotExist(err) {
		return []string{s.Dir}, fmt.Errorf("remove spool: %w", err)
	}
	return nil, nil
}

// CopySpool copies the recordings into dst while the job is running. left and err are as in Spool.
func CopySpool(s *rundir.Spool, dst string) (left []string, err error) {
	names, err := s.Recordings()
	if err != nil {
		return []string{s.Dir}, fmt.Errorf("collect recordings: %w", err)
	}
	var copied []fetched
	known := symbolize.NewCache(nil)
	for _, name := range names {
		path := filepath.Join(s.Dir, name)
		copied = append(copied, fetched{path, true, bring(path, dst, known)})
	}
	return leftIn(s, copied)
}

// leftIn returns the paths of the recordings that stay in the spool, and the
// errors of all.
func leftIn(s *rundir.Spool, all []fetched) (left []string, err error) {
	var errs []error
	for _, f := range all {
		if f.err != nil {
			errs = append(errs, f.err)
		}
		if f.err != nil || f.stays {
			left = append(left, f.path)
		}
	}
	if err := sameOnce(errs); err != nil {
		return left, fmt.Errorf("collect recordings: %w\nthe missing recordings are still in %s", err, s.Dir)
	}
	return left, nil
}

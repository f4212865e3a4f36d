// Package collect brings the recordings of a run together: it moves them from the spool
// and from other directories into the run directory, packs them into containers, and
// watches the processes that write them.
package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
)

// Run moves the recordings that are left on this node into the run
// directory, and updates run.json. host is the name of this node. n is the
// number of recordings that were moved. Collect continues after an error.
func Run(d rundir.Dir, host string) (n int, err error) {
	if err := d.Foreign(); err != nil {
		return 0, err
	}
	fromNotes, err := Notes(d, host)
	fromSpool, spoolErr := collectSpool(d, host)
	PackAll(d.Recordings())
	return fromNotes + fromSpool, errors.Join(err, spoolErr)
}

// Notes moves recordings that this node's processes had to put into
// $TMPDIR, and removes their notes.
func Notes(d rundir.Dir, host string) (n int, err error) {
	var errs []error
	var paths []string
	for _, l := range d.Notes() {
		if l.Host == host {
			paths = append(paths, l.Path)
		}
	}
	if len(paths) == 0 {
		return 0, nil
	}
	for _, f := range fetch(paths, d.Recordings(), rundir.RecordingWriters()) {
		home := filepath.Join(d.Recordings(), filepath.Base(f.path))
		switch {
		case errors.Is(f.err, fs.ErrNotExist) && !rundir.Exists(f.path) && d.RecordedNames()[filepath.Base(f.path)]: // the process has moved it
		case errors.Is(f.err, fs.ErrNotExist) && !rundir.Exists(f.path):
			// Keep the note: a job's private /tmp may be visible only from inside the job.
			errs = append(errs, fmt.Errorf("%s does not exist or is not visible from this node: if it was deleted, remove %s.at", rundir.Left{Host: host, Path: f.path}, home))
			continue
		case f.err != nil:
			errs = append(errs, f.err)
			continue
		default:
			n++
		}
		if !f.stays {
			os.Remove(home + ".at")
		}
	}
	return n, sameOnce(errs)
}

// collectSpool moves the recordings in the spool of the node where the job was
// launched.
func collectSpool(d rundir.Dir, host string) (n int, err error) {
	info, err := d.ReadInfo()
	if err != nil || info.Host != host || len(info.LeftInSpool()) == 0 {
		return 0, err
	}
	spool, err := rundir.OpenSpool(info.Spool)
	if err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	var left []string
	n = len(d.SpooledFiles())
	if err != nil {
		err = spoolGone(d, info)
	} else {
		left, err = Spool(spool, d.Recordings(), 0)
	}
	d.SetUncollected(info, left)
	return n - len(left), errors.Join(err, d.WriteInfo(info))
}

// spoolGone returns the error for recordings that were lost with the spool. It returns nil if all
// of them have been collected: an earlier mpitrace run may have collected them without updating
// run.json, because it was killed or the disk was full.
func spoolGone(d rundir.Dir, info *rundir.Info) error {
	spool := rundir.Left{Host: info.Host, Path: info.Spool}
	run, err := source.Open([]string{string(d)}, source.Options{RunOnly: true})
	if err != nil {
		return fmt.Errorf("%s no longer exists, and the collected recordings cannot be read: %w", spool, err)
	}
	recorded, missing := 0, 0
	for _, j := range run.Jobs {
		recorded += j.Processes
		missing += max(j.Size-j.Processes, 0)
	}
	switch {
	case recorded == 0:
		return fmt.Errorf("%s no longer exists, so its recordings are lost: it was deleted, or the node was restarted", spool)
	case missing > 0:
		return fmt.Errorf("%s no longer exists: %d of %d recordings were collected, the others are lost", spool, recorded, recorded+missing)
	}
	return nil
}

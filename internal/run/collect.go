package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Left is a recording that is not in the run directory yet, or whose process is
// still running. It may also be a spool with all its recordings.
type Left struct{ Host, Path string }

// String returns the form used in run.json, "host:path".
func (l Left) String() string { return l.Host + ":" + l.Path }

func parseLeft(text string) (Left, bool) {
	host, path, _ := strings.Cut(text, ":")
	l := Left{host, path}
	return l, plainHost(host) && filepath.IsAbs(path) && filepath.Clean(path) == path
}

// plainHost reports whether name can be a host name. It must not be an option
// or a command of the program that connects to the host.
func plainHost(name string) bool {
	odd := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("._-", r)
	}
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, odd)
}

// noteSuffix ends the name of a note: a symbolic link to "host:path". The
// library leaves it in the recordings directory if it had to put a recording
// into $TMPDIR. The note is removed when the recording is collected.
const noteSuffix = ".rec.at"

// notes returns the recordings that notes refer to, sorted by the notes' names.
func (d Dir) notes() []Left {
	files, _ := filepath.Glob(filepath.Join(escape(d.Recordings()), "*"+noteSuffix)) // the pattern is well formed
	var left []Left
	for _, file := range files {
		text, err := os.Readlink(file)
		l, ok := parseLeft(text)
		if err == nil && ok && filepath.Base(l.Path)+".at" == filepath.Base(file) {
			left = append(left, l)
		}
	}
	return left
}

// Uncollected returns what has not been collected yet: recordings in the spool,
// according to run.json, and recordings in other directories, according to the
// notes.
func (d Dir) Uncollected() []Left {
	info, _ := d.ReadInfo() // if it cannot be read, there are still the notes
	return append(info.spooled(), d.notes()...)
}

// spooled returns the recordings that are still in the spool, according to
// run.json.
func (i *Info) spooled() []Left {
	var left []Left
	for _, text := range i.Uncollected {
		if l, ok := parseLeft(text); ok && i.Spool != "" && (l.Path == i.Spool || filepath.Dir(l.Path) == i.Spool) {
			left = append(left, l)
		}
	}
	return left
}

// SetUncollected sets info.Uncollected to the given paths in the spool and the
// recordings that notes refer to.
func (d Dir) SetUncollected(info *Info, spooled []string) {
	info.Uncollected = nil
	for _, path := range spooled {
		info.Uncollected = append(info.Uncollected, Left{info.Host, path}.String())
	}
	for _, l := range d.notes() {
		info.Uncollected = append(info.Uncollected, l.String())
	}
}

// SetLost sets info.Lost to the recordings that were seen on this node but are
// neither collected nor still to be collected. seen holds file names.
func (d Dir) SetLost(info *Info, seen []string) {
	kept := d.recorded()
	for _, l := range d.notes() {
		kept[filepath.Base(l.Path)] = true
	}
	info.Lost = nil
	for _, name := range seen {
		if !kept[name] && (info.spool() == "" || !exists(filepath.Join(info.Spool, name))) {
			info.Lost = append(info.Lost, name)
		}
	}
}

// recorded returns the file names of all recordings of the run.
func (d Dir) recorded() map[string]bool {
	files, _ := d.RecordingFiles() // if the directory cannot be read, it has none
	names := make(map[string]bool, len(files))
	for _, file := range files {
		names[filepath.Base(file)] = true
	}
	return names
}

// Collect moves the recordings that are left on this node into the run
// directory, and updates run.json. host is the name of this node. n is the
// number of recordings that were moved. Collect continues after an error.
func (d Dir) Collect(host string) (n int, err error) {
	if err := d.Foreign(); err != nil {
		return 0, err
	}
	fromNotes, err := d.CollectNotes(host)
	fromSpool, spoolErr := d.collectSpool(host)
	PackAll(d.Recordings())
	return fromNotes + fromSpool, errors.Join(err, spoolErr)
}

// CollectNotes moves recordings that this node's processes had to put into
// $TMPDIR, and removes their notes.
func (d Dir) CollectNotes(host string) (n int, err error) {
	var errs []error
	var paths []string
	for _, l := range d.notes() {
		if l.Host == host {
			paths = append(paths, l.Path)
		}
	}
	if len(paths) == 0 {
		return 0, nil
	}
	for _, f := range fetch(paths, d.Recordings(), RecordingWriters()) {
		home := filepath.Join(d.Recordings(), filepath.Base(f.path))
		switch {
		case errors.Is(f.err, fs.ErrNotExist) && !exists(f.path) && d.recorded()[filepath.Base(f.path)]: // the process has moved it
		case errors.Is(f.err, fs.ErrNotExist) && !exists(f.path):
			// Keep the note: a job's private /tmp may be visible only from
			// inside the job.
			errs = append(errs, fmt.Errorf("%s does not exist or is not visible from this node: if it was deleted, remove %s.at", Left{host, f.path}, home))
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
func (d Dir) collectSpool(host string) (n int, err error) {
	info, err := d.ReadInfo()
	if err != nil || info.Host != host || len(info.spooled()) == 0 {
		return 0, err
	}
	spool, err := OpenSpool(info.Spool)
	if err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	var left []string
	n = len(d.spooled())
	if err != nil {
		err = d.spoolGone(info)
	} else {
		left, err = spool.Collect(d.Recordings(), 0)
	}
	d.SetUncollected(info, left)
	return n - len(left), errors.Join(err, d.WriteInfo(info))
}

// spoolGone returns the error for recordings that were lost with the spool. It
// returns nil if all have been collected: mpitrace run may have collected them
// and then been killed, or have found no space to write run.json.
func (d Dir) spoolGone(info *Info) error {
	spool := Left{info.Host, info.Spool}
	run, err := d.Open(Heads, nil)
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

// Hosts returns the nodes with something left, without the node named host.
func Hosts(left []Left, host string) []string {
	var hosts []string
	for _, l := range left {
		if l.Host != host && !slices.Contains(hosts, l.Host) {
			hosts = append(hosts, l.Host)
		}
	}
	return hosts
}

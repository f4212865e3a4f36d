package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Left is a recording that is not in the run directory yet, or of which more
// may come; or a spool, with all recordings in it.
type Left struct{ Host, Path string }

// String is how run.json names it: "host:path".
func (l Left) String() string { return l.Host + ":" + l.Path }

func parseLeft(text string) (Left, bool) {
	host, path, _ := strings.Cut(text, ":")
	l := Left{host, path}
	return l, plainHost(host) && filepath.IsAbs(path) && filepath.Clean(path) == path
}

// plainHost tells whether a name can be that of a host, and no option or
// command of the program that is to reach it.
func plainHost(name string) bool {
	odd := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("._-", r)
	}
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, odd)
}

// noteSuffix ends the name of a note that the library leaves beside where a
// recording is to be, if it had to put it into $TMPDIR: a symbolic link to
// "host:path". It goes when the recording comes.
const noteSuffix = ".rec.at"

// notes are the recordings that notes tell of, in order.
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

// Uncollected is what is still to be brought home: of the spool what run.json
// says, of other places what the notes say.
func (d Dir) Uncollected() []Left {
	info, _ := d.ReadInfo() // without it there are the notes
	return append(info.spooled(), d.notes()...)
}

// spooled is what is left in the spool, as far as is known.
func (i *Info) spooled() []Left {
	var left []Left
	for _, text := range i.Uncollected {
		if l, ok := parseLeft(text); ok && i.Spool != "" && (l.Path == i.Spool || filepath.Dir(l.Path) == i.Spool) {
			left = append(left, l)
		}
	}
	return left
}

// SetUncollected has run.json name what is left in the spool, and in the places
// that notes tell of.
func (d Dir) SetUncollected(info *Info, spooled []string) {
	info.Uncollected = nil
	for _, path := range spooled {
		info.Uncollected = append(info.Uncollected, Left{info.Host, path}.String())
	}
	for _, l := range d.notes() {
		info.Uncollected = append(info.Uncollected, l.String())
	}
}

// SetLost has run.json name those of the recordings that were seen on this node, by
// the names of their files, that are neither home nor still to be collected.
func (d Dir) SetLost(info *Info, seen []string) {
	noted := map[string]bool{}
	for _, l := range d.notes() {
		noted[filepath.Base(l.Path)] = true
	}
	info.Lost = nil
	for _, name := range seen {
		inSpool := info.Spool != "" && exists(filepath.Join(info.Spool, name))
		if !exists(filepath.Join(d.Recordings(), name)) && !inSpool && !noted[name] {
			info.Lost = append(info.Lost, name)
		}
	}
}

// Collect brings home what is left on this node, host being its name, and notes
// in run.json what is still left. n is the number of recordings that came.
// It goes on after an error.
func (d Dir) Collect(host string) (n int, err error) {
	if err := d.own(); err != nil {
		return 0, err
	}
	fromNotes, err := d.CollectNotes(host)
	fromSpool, spoolErr := d.collectSpool(host)
	return fromNotes + fromSpool, errors.Join(err, spoolErr)
}

// own checks that the run is this user's: whose it is says which files are to
// be moved and which nodes to be asked.
func (d Dir) own() error {
	for _, path := range []string{string(d), d.Recordings(), d.Info()} {
		info, err := os.Stat(path)
		if os.IsNotExist(err) && path != string(d) {
			continue
		}
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			return fmt.Errorf("%s is another user's: only its owner can collect", path)
		}
	}
	return nil
}

// CollectNotes brings home recordings that this node's processes had to put into
// $TMPDIR. With the recording goes the note.
func (d Dir) CollectNotes(host string) (n int, err error) {
	var errs []error
	writers := sync.OnceValue(Writers)
	for _, l := range d.notes() {
		if l.Host != host {
			continue
		}
		home := filepath.Join(d.Recordings(), filepath.Base(l.Path))
		stays, err := Fetch(l.Path, d.Recordings(), writers())
		switch {
		case errors.Is(err, fs.ErrNotExist) && exists(home): // the process has brought it
		case errors.Is(err, fs.ErrNotExist):
			// The note stays: a job's own /tmp is not seen from everywhere.
			errs = append(errs, fmt.Errorf("%s is not there, or cannot be seen from here: if it is gone, remove %s.at", l, home))
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		default:
			n++
		}
		if !stays {
			os.Remove(home + ".at")
		}
	}
	return n, errors.Join(errs...)
}

// collectSpool brings home what is in the spool of the node where the job was
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

// spoolGone is the error that recordings were lost with the spool; nil if all are
// home: mpitrace run may have been killed, or have had no room to write run.json,
// when it had brought them.
func (d Dir) spoolGone(info *Info) error {
	spool := Left{info.Host, info.Spool}
	run, err := d.Open(Heads, nil)
	if err != nil {
		return fmt.Errorf("%s is gone, and what is home cannot be read: %w", spool, err)
	}
	recorded, missing := 0, 0
	for _, j := range run.Jobs {
		recorded += j.Processes
		missing += max(j.Size-j.Processes, 0)
	}
	switch {
	case recorded == 0:
		return fmt.Errorf("%s is gone, and the recordings in it with it: somebody deleted it, or the node was restarted", spool)
	case missing > 0:
		return fmt.Errorf("%s is gone: %d of %d recordings are home, the others are lost", spool, recorded, recorded+missing)
	}
	return nil
}

// Hosts are the nodes on which something is left, but for this one.
func Hosts(left []Left, host string) []string {
	var hosts []string
	for _, l := range left {
		if l.Host != host && !slices.Contains(hosts, l.Host) {
			hosts = append(hosts, l.Host)
		}
	}
	return hosts
}

// Package tasks divides work between processes, on any nodes, that have nothing
// in common but a directory.
//
// A task makes one file in the directory. Its content depends only on the
// task's input, so it does not matter who makes it, nor whether it is made
// twice: the first complete file stays. A file has its name only when it is
// complete. A process that was killed loses at most the files that it was
// making, and any other process, or a later one, makes them.
//
// Claims keep processes from making the same file at the same time. They are
// only hints. A claim is a file that its owner touches every few seconds. If it
// is not touched for a while, or if its owner was on this node and has ended,
// it is ignored.
package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// Share is the part of the work that a process does first: the Part-th of Of
// equal parts, from 0. Then it does what others have not claimed.
type Share struct{ Part, Of int }

// All is the Share of a process that works alone.
var All = Share{0, 1}

// first returns the first of n tasks of the share.
func (s Share) first(n int) int { return n * s.Part / s.Of }

// ErrGone means that the directory was removed: another process has finished
// the work.
var ErrGone = errors.New("another process has finished")

// How claims are kept.
const (
	claimSuffix = ".claim"
	heartbeat   = 2 * time.Second // between touches
	patience    = 30 * time.Second
	firstPoll   = 10 * time.Millisecond
	longestPoll = 500 * time.Millisecond
)

// Directory is a directory of tasks.
type Directory struct {
	path  string
	share Share
	owner string // content of claims

	mutex   sync.Mutex
	held    map[string]bool // names of the tasks that this process has claimed
	checked map[string]bool // files whose checksum was correct
	seen    map[string]sighting
	stop    chan struct{}
	stopped sync.WaitGroup
}

// sighting is the time of a claim's last touch, as its node's clock shows it,
// and when this process first saw it.
type sighting struct{ touched, first time.Time }

// Make makes a directory of tasks. made is false if a process of this user has made it before.
// It returns an error for a link, or for a directory that another user can write
// to: whoever wrote a task's file decides what is read.
func Make(path string) (made bool, err error) {
	err = os.Mkdir(path, 0o700)
	made = err == nil
	if errors.Is(err, fs.ErrExist) {
		err = atomicfile.CheckOwnDirectory(path)
	}
	if err != nil {
		return false, fmt.Errorf("make directory of tasks: %w", err)
	}
	return made, nil
}

// Open opens a directory that Make has made. Call Close when the work is done.
func Open(path string, share Share) *Directory {
	host, _ := os.Hostname() // without it, other claims of nodes without a name look like those of this node
	d := &Directory{path: path, share: share, owner: claimText(host, os.Getpid()), held: map[string]bool{}, checked: map[string]bool{},
		seen: map[string]sighting{}, stop: make(chan struct{})}
	d.stopped.Go(d.touchClaims)
	return d
}

// Close ends the work of this process. The files stay.
func (d *Directory) Close() {
	close(d.stop)
	d.stopped.Wait()
}

// Remove removes a directory of tasks. Processes that still work in it get ErrGone. What cannot be
// removed is left.
func Remove(path string) { atomicfile.RemoveDirectory(path) }

// touchClaims touches the claims of this process until Close.
func (d *Directory) touchClaims() {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case now := <-ticker.C:
			d.mutex.Lock()
			for name := range d.held {
				_ = os.Chtimes(d.file(name)+claimSuffix, now, now) // a lost claim does no harm
			}
			d.mutex.Unlock()
		}
	}
}

func (d *Directory) file(name string) string { return filepath.Join(d.path, name) }

func claimText(host string, pid int) string { return fmt.Sprintf("%s %d\n", host, pid) }

// claim reports whether this process may do a task now.
func (d *Directory) claim(name string) (bool, error) {
	path := d.file(name) + claimSuffix
	out, err := atomicfile.CreateNew(path)
	if errors.Is(err, fs.ErrExist) {
		if !d.stale(path) {
			return false, nil
		}
		os.Remove(path)
		if out, err = atomicfile.CreateNew(path); errors.Is(err, fs.ErrExist) {
			return false, nil
		}
	}
	if err == nil {
		_, err = io.WriteString(out, d.owner)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return false, d.failed(name, err)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.held[name] = true
	return true, nil
}

func (d *Directory) release(name string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	delete(d.held, name)
	os.Remove(d.file(name) + claimSuffix)
}

// stale reports whether the owner of a claim has ended, as far as can be known.
func (d *Directory) stale(path string) bool {
	const maxClaim = 1 << 10
	text, err := atomicfile.Read(path, maxClaim)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	var host string
	var pid int
	if n, _ := fmt.Sscanf(string(text), "%s %d", &host, &pid); n == 2 && claimText(host, pid) == string(text) {
		here, _ := os.Hostname()
		if host == here && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return true
	}
	// Clocks of nodes may differ: count from when this process saw the change.
	d.mutex.Lock()
	defer d.mutex.Unlock()
	known, ok := d.seen[path]
	if !ok || !known.touched.Equal(info.ModTime()) {
		d.seen[path] = sighting{info.ModTime(), time.Now()}
		return false
	}
	return time.Since(known.first) > patience
}

// failed returns the error of a task: ErrGone if the directory was removed.
func (d *Directory) failed(name string, err error) error {
	if _, missing := os.Stat(d.path); errors.Is(missing, fs.ErrNotExist) {
		return ErrGone
	}
	return fmt.Errorf("%s: %w", d.file(name), atomicfile.Nameless(err))
}

// make makes the file of a task, unless it exists.
func (d *Directory) make(name string, write func(io.Writer) error) error {
	if d.Has(name) {
		return nil
	}
	var cause error // an error of write itself, which does not get the file's name
	err := atomicfile.WriteOnce(d.file(name), func(w io.Writer) error {
		sum := &checksum{w: w}
		if cause = write(sum); cause != nil {
			return cause
		}
		_, err := w.Write(sum.trailer())
		return err
	})
	switch {
	case err == nil:
		return nil
	case cause != nil && d.failed(name, err) != ErrGone:
		return cause
	}
	return d.failed(name, err)
}

// Has reports whether a file is made.
func (d *Directory) Has(name string) bool {
	_, err := os.Stat(d.file(name))
	return err == nil
}

// castagnoli is the table of the checksum, which processors compute themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is a writer that ends a file with a trailer: a checksum, and a mark.
// After a crash of a node, a file may have its name and size, but not its
// content.
type checksum struct {
	w   io.Writer
	sum uint32
}

func (c *checksum) Write(p []byte) (int, error) {
	c.sum = crc32.Update(c.sum, castagnoli, p)
	return c.w.Write(p)
}

const (
	trailerMark = "MPTT"
	trailerLen  = len(trailerMark) + 4
)

func (c *checksum) trailer() []byte {
	return append([]byte(trailerMark), byte(c.sum), byte(c.sum>>8), byte(c.sum>>16), byte(c.sum>>24))
}

// Read calls read with the content of a file that is made. A damaged file is
// removed, so that it is made again, and is an error.
func (d *Directory) Read(name string, read func(*io.SectionReader) error) error {
	in, size, err := atomicfile.Sized(atomicfile.Open(d.file(name), atomicfile.AnySize))
	if err != nil {
		return d.failed(name, err)
	}
	defer in.Close()
	content := io.NewSectionReader(in, 0, max(0, size-int64(trailerLen)))
	if err := d.check(name, content, in); err != nil {
		os.Remove(d.file(name))
		return d.failed(name, err)
	}
	return read(content)
}

func (d *Directory) check(name string, content *io.SectionReader, in io.ReaderAt) error {
	d.mutex.Lock()
	known := d.checked[name]
	d.mutex.Unlock()
	if known {
		return nil
	}
	sum, trailer := &checksum{w: io.Discard}, make([]byte, trailerLen)
	if _, err := io.Copy(sum, io.NewSectionReader(content, 0, content.Size())); err != nil {
		return err
	}
	if _, err := in.ReadAt(trailer, content.Size()); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(trailer, sum.trailer()) {
		return errors.New("damaged, and removed: repeat the command")
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.checked[name] = true
	return nil
}

// order returns the indices of n tasks in the order in which this process does them: its own share
// first, then the shares of the others, beginning with the next one. It does the others' shares
// from their ends, because their owners begin at the starts.
func (d *Directory) order(n int) []int {
	own := d.share
	if own.Of > n { // parts without a task
		own = Share{own.first(n), n}
	}
	var order []int
	for i := range own.Of {
		next := Share{(own.Part + i) % own.Of, own.Of}
		var share []int
		for task := next.first(n); task < (Share{next.Part + 1, next.Of}).first(n); task++ {
			share = append(share, task)
		}
		if i > 0 {
			slices.Reverse(share)
		}
		order = append(order, share...)
	}
	return order
}

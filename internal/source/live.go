package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// LiveSource adds the present state of processes to the profiles of another
// source. It sets Exit.Alive or Exit.Gone for processes that did not finalize and
// whose end was not recorded: for those of this node, and if the command has ended,
// for all.
type LiveSource struct {
	Of profile.Source
	// Read is a time before the recordings were read. It becomes Exit.Alive of
	// processes that are still running.
	Read  time.Time
	Ended bool // see Run.Ended

	writers func() map[string]int
}

// Each implements profile.Source.
func (s LiveSource) Each(f func(*profile.Profile) error) error {
	setState := s.setter()
	return s.Of.Each(func(p *profile.Profile) error {
		setState(p)
		return f(p)
	})
}

// EachPart implements profile.Parts. If the source Of does not implement it, there is one part.
func (s LiveSource) EachPart(n int, f func(part int, p *profile.Profile) error) error {
	parts, ok := s.Of.(profile.Parts)
	if !ok {
		return s.Each(func(p *profile.Profile) error { return f(0, p) })
	}
	setState := s.setter()
	return parts.EachPart(n, func(part int, p *profile.Profile) error {
		setState(p)
		return f(part, p)
	})
}

// setter returns a function that sets the state of a process.
func (s LiveSource) setter() func(*profile.Profile) {
	host, _ := os.Hostname()
	s.writers = sync.OnceValue(rundir.RecordingWriters)
	return func(p *profile.Profile) {
		if p.State == profile.Finalized || p.Exit != (profile.Exit{}) {
			return
		}
		if p.Host == host && host != "" {
			s.setState(p)
		}
		p.Exit.Gone = p.Exit.Gone || s.Ended && p.Exit.Alive == 0
	}
}

// setState finds the process of a recording by the recording's file name, which
// contains the process id and the start time. It does not use the path, because
// the file may have been copied.
func (s LiveSource) setState(p *profile.Profile) {
	name := filepath.Base(p.Source)
	writes, err := rundir.MapsRecording(p.Pid, name)
	pid := p.Pid
	if !writes {
		pid, writes = s.writers()[name]
	}
	switch {
	case writes:
		p.Exit.Alive, p.Exit.Stopped = s.Read.UnixNano(), rundir.Stopped(pid)
	case (err == nil || errors.Is(err, fs.ErrNotExist)) && rundir.InSight(p.PidNamespace):
		p.Exit.Gone = true
	} // otherwise it belongs to another user, or may run where it is not visible from here
}

// NodeProfiles reads the recordings of all of this user's processes on this
// node, of any job. It returns an error for each recording that cannot be read.
func NodeProfiles() (profile.List, []error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, []error{err}
	}
	var found profile.List
	var errs []error
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !ownProcess(e) {
			continue
		}
		files, _ := rundir.Mapped(pid) // fails if the process has ended
		for _, f := range files {
			ps, err := readMapped(pid, f)
			if err != nil {
				errs = append(errs, fmt.Errorf("process %d: %w", pid, err))
			}
			for _, p := range ps {
				if p.Pid == pid { // not a forked child, which records nothing
					found = append(found, p)
				}
			}
		}
	}
	return found, errs
}

func ownProcess(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && atomicfile.OwnerOf(info) == os.Getuid()
}

// readMapped reads a recording, or the mapped ones of a container, through the
// root directory of the process, which may be in a container of its own. It
// returns an error if the file at that path is not the mapped one, and nothing
// if it is not a recording.
func readMapped(pid int, f rundir.MappedFile) ([]*profile.Profile, error) {
	path := filepath.Join("/proc", strconv.Itoa(pid), "root", f.Path)
	in, err := atomicfile.OpenNoFollow(path, atomicfile.AnySize)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	now := time.Now()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if rundir.InodeOf(info) != f.Inode {
		return nil, fmt.Errorf("%q is not the file that is mapped", f.Path)
	}
	var found []*profile.Profile
	var errs []error
	add := func(p *profile.Profile, source string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", source, err))
			return
		}
		p.Source, p.Exit.Alive, p.Exit.Stopped = source, now.UnixNano(), rundir.Stopped(pid)
		found = append(found, p)
	}
	if f.Container() {
		for _, name := range f.Recordings(pid) {
			p, err := recording.ReadFile(filepath.Join(f.Here(pid), name))
			add(p, filepath.Join(f.Path, name), err)
		}
		return found, errors.Join(errs...)
	}
	head := make([]byte, len(layout.Magic))
	if n, _ := in.ReadAt(head, 0); !bytes.Equal(head[:n], layout.Magic[:]) {
		return nil, nil
	}
	p, err := recording.Read(in, info.Size())
	add(p, f.Path, err)
	return found, errors.Join(errs...)
}

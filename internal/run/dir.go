// Package run is the directory of a run: what is where, how its name is
// found, and how the recordings in it become files that others read.
//
//	run.json                     what was run, how it ended, the jobs in it
//	recordings/*.rec             one for each process
//	recordings/*.wrong-mpi       a process of another MPI than the library was built for
//	recordings/*.nested          another `mpitrace run` that the command started
//	lib/*.so                     the library, if it could be kept nowhere else
//	physical/*.prof              what the MPI library wrote of what it sent, if asked for
//	profile.arrow                the facts of all ranks of all jobs
//	comms.arrow ranks.arrow      the communicators and the processes
//	trace.<rank>.arrow           the events of a rank, if it was traced
//	pvars.arrow                  what was read of the MPI's performance variables, if anything was
//	prof/<program>.<rank>.prof   a rank in Open MPI's format, if asked for
//	arrow/<program>.<rank>.arrow a rank in Arrow, if asked for
//
// Each file is written whole or not at all.
package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Dir is the path of a run directory.
type Dir string

// Recordings is the directory of the recordings.
func (d Dir) Recordings() string { return filepath.Join(string(d), "recordings") }

// RecordingFiles lists the recordings, in the order of their names. With them
// are those in the spool (Spooled), in place of the copies here, if there are
// any, of what is still written to.
func (d Dir) RecordingFiles() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(escape(d.Recordings()), "*.rec"))
	if err != nil {
		return nil, err
	}
	spooled := d.spooled()
	newer := make(map[string]bool, len(spooled))
	for _, file := range spooled {
		newer[filepath.Base(file)] = true
	}
	files = slices.DeleteFunc(files, func(file string) bool { return newer[filepath.Base(file)] })
	return append(files, spooled...), nil
}

// Spooled is the spool that run.json names and how many recordings are in it,
// as far as it is on this node: while the run goes on, or if `mpitrace run` was
// killed or had no room to bring them home.
func (d Dir) Spooled() (spool string, n int) {
	files := d.spooled()
	if len(files) == 0 {
		return "", 0
	}
	return filepath.Dir(files[0]), len(files)
}

func (d Dir) spooled() []string {
	info, err := d.ReadInfo()
	if err != nil || info.Spool == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(escape(info.Spool), "*.rec")) // the pattern is well formed
	return files
}

// Profile is the merged table of facts.
func (d Dir) Profile() string { return filepath.Join(string(d), "profile.arrow") }

// Comms is the merged table of communicators.
func (d Dir) Comms() string { return filepath.Join(string(d), "comms.arrow") }

// Ranks is the table of processes.
func (d Dir) Ranks() string { return filepath.Join(string(d), "ranks.arrow") }

// library is the directory of PrepareLibrary.
func (d Dir) library() string { return filepath.Join(string(d), "lib") }

// PrepareLibrary makes the directory for a library that is built for this run
// alone, where the user has no cache, and returns its path.
func (d Dir) PrepareLibrary() (string, error) {
	dir := d.library()
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("make directory for the library: %w", err)
	}
	return dir, nil
}

// Pvars is the table of readings of performance variables.
func (d Dir) Pvars() string { return filepath.Join(string(d), "pvars.arrow") }

// Info is the description of the run.
func (d Dir) Info() string { return filepath.Join(string(d), "run.json") }

// escape keeps a directory's name from being taken for a pattern.
func escape(dir string) string {
	var out []rune
	for _, r := range dir {
		switch r {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// Name is the default name for a run of a program: with the batch system's id
// of the job, else with the date and time.
func Name(program, job string, now time.Time) string {
	if job == "" {
		job = now.Format("20060102-150405")
	}
	return "mpitrace-" + text.FileName(program) + "-" + text.FileName(job)
}

// maxRuns bounds the search for a name that is free.
const maxRuns = 10000

// Create makes a new run directory of the given name, or name.2, name.3 … if
// it exists. The result is absolute: processes of the run change theirs.
func Create(name string) (Dir, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	path := abs
	for n := 2; ; n++ {
		err := os.Mkdir(path, 0o777)
		if err == nil {
			return Dir(path), Dir(path).prepare()
		}
		if !errors.Is(err, os.ErrExist) || n > maxRuns {
			return "", fmt.Errorf("make run directory: %w", err)
		}
		path = abs + "." + strconv.Itoa(n)
	}
}

// ExistsError says that a directory belongs to a run already.
type ExistsError struct {
	Dir  string
	Used bool // something is recorded in it
}

func (e *ExistsError) Error() string {
	holds := "already holds a run"
	if !e.Used {
		holds = "is in use by a run that is starting, or was left by one that recorded nothing"
	}
	return fmt.Sprintf("%s %s: name another directory with -o, or remove it", e.Dir, holds)
}

// CreateAt makes the run directory that the user named. It returns an
// *ExistsError if a run is in it. Of several processes that call it at the same
// time for one directory one gets it: the one whose mkdir makes the directory of
// the recordings.
func CreateAt(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	d := Dir(abs)
	if err := makeDirectory(string(d), os.MkdirAll); err != nil {
		return "", err
	}
	if d.Used() {
		return "", &ExistsError{path, true}
	}
	err = makeDirectory(d.Recordings(), os.Mkdir)
	if errors.Is(err, fs.ErrExist) {
		return "", &ExistsError{path, d.Used()}
	}
	if err != nil {
		return "", err
	}
	return d, nil
}

// Discard removes the directory of a run that recorded nothing, and keeps the
// directory itself unless it was made for the run. It reports whether it did: not
// if there is or may be anything of a process, here or on a node.
func (d Dir) Discard(made bool) bool {
	recordings, err := d.RecordingFiles()
	if err != nil || len(recordings)+len(d.traced())+len(d.physicalFiles())+len(d.Uncollected()) > 0 {
		return false
	}
	if os.Remove(d.Recordings()) != nil { // it is not empty
		return false
	}
	os.Remove(d.Physical())
	os.Remove(d.Info())
	libraries, _ := filepath.Glob(filepath.Join(escape(d.library()), "libmpitrace-*.so")) // the pattern is well formed
	for _, library := range libraries {
		os.Remove(library)
	}
	os.Remove(d.library())
	if made {
		os.Remove(string(d))
	}
	return true
}

// Used tells whether there is anything of a run.
func (d Dir) Used() bool {
	recordings, err := d.RecordingFiles()
	return err != nil || len(recordings) > 0 || exists(d.Info()) || exists(d.Profile())
}

// Share makes a run directory, or uses the one that another process of the
// run has made.
func Share(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return Dir(abs), Dir(abs).prepare()
}

func (d Dir) prepare() error {
	for _, dir := range []string{string(d), d.Recordings()} {
		if err := makeDirectory(dir, os.MkdirAll); err != nil {
			return err
		}
	}
	return nil
}

// makeDirectory makes a directory of a run, unless that would be in a place that
// another user has prepared.
func makeDirectory(dir string, mkdir func(string, os.FileMode) error) error {
	err := checkLinks(filepath.Dir(dir))
	var made error
	if err == nil {
		made = mkdir(dir, 0o777)
		err = made
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = checkPlanted(dir)
	}
	if err = cmp.Or(err, made); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
)

// library returns the directory that PrepareLibrary makes.
func (d Dir) library() string { return filepath.Join(string(d), "lib") }

// PrepareLibrary makes a directory for a library that is built for this run
// only, and returns its path. It is used if the user has no cache directory.
func (d Dir) PrepareLibrary() (string, error) {
	if err := MakeInside(d.library(), 0o755); err != nil {
		return "", fmt.Errorf("make directory for the library: %w", err)
	}
	return d.library(), nil
}

// Name returns the default name for a run directory. It contains the program
// and the batch system's job id or, without one, the date and time.
func Name(program, job string, now time.Time) string {
	if job == "" {
		job = now.Format("20060102-150405")
	}
	return "mpitrace-" + text.FileName(program) + "-" + text.FileName(job)
}

// Create makes a new run directory with the given name or, if it exists,
// name-2, name-3, and so on: a full stop separates the step from the job in the
// names of batch jobs. The returned path is absolute, because processes
// of the run may change their working directory.
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
		path = abs + "-" + strconv.Itoa(n)
	}
}

// ExistsError is the error for a directory that already belongs to a run.
type ExistsError struct {
	Dir  string
	Used bool // whether it contains a run
}

func (e *ExistsError) Error() string {
	holds := "already holds a run"
	if !e.Used {
		holds = "is in use by a run that is starting, or was left by one that recorded nothing"
	}
	return fmt.Sprintf("%s %s: name another directory with -o, or remove it", e.Dir, holds)
}

// CreateAt makes the run directory that the user named. It returns an
// *ExistsError if there is already a run in it. A run that has ended and
// recorded nothing is replaced. If several processes call it at the same time
// for one directory, only the one that makes the directory of recordings, or
// removes the run.json of the replaced run, succeeds.
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
		if !d.endedEmpty() || os.Remove(d.Info()) != nil {
			return "", &ExistsError{path, d.Used()}
		}
		d.removeNotes()
		return d, d.prepare()
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

// endedEmpty reports whether the directory has a run that has ended and of which
// nothing was recorded or lost. It needs the directory of recordings: without it,
// whoever comes after run.json was removed could make it.
func (d Dir) endedEmpty() bool {
	info, err := d.ReadInfo()
	return err == nil && d.Foreign() == nil && info.ExitStatus != nil && len(info.Lost) == 0 && !d.mayHaveRecordings() && Exists(d.Recordings()) && !Exists(d.Profile())
}

// mayHaveRecordings reports whether there is, or may be, a recording of any
// process, here or on another node.
func (d Dir) mayHaveRecordings() bool {
	recordings, err := d.RecordingFiles()
	return err != nil || len(recordings)+len(d.TracedRecordings())+len(d.physicalFiles())+len(d.Uncollected()) > 0
}

// removeNotes removes the notes about processes that were not recorded here.
func (d Dir) removeNotes() {
	entries, _ := os.ReadDir(d.Recordings())
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), wrongMPISuffix) || strings.HasSuffix(e.Name(), nestedSuffix) {
			os.Remove(filepath.Join(d.Recordings(), e.Name()))
		}
	}
}

// Discard removes the files of a run that recorded nothing. It removes the
// directory itself only if made is true. It does nothing and returns false if
// there is, or may be, a recording of any process, or a note about one that was
// not recorded, which the report shows.
func (d Dir) Discard(made bool) bool {
	if d.mayHaveRecordings() {
		return false
	}
	if os.Remove(d.Recordings()) != nil { // not empty
		return false
	}
	os.Remove(d.Physical())
	os.Remove(d.Info())
	os.Remove(d.ConfigFile())
	libraries, _ := filepath.Glob(filepath.Join(Escape(d.library()), "libmpitrace-*.so")) // the pattern is well formed
	for _, library := range libraries {
		os.Remove(library)
	}
	os.Remove(d.library())
	if made {
		os.Remove(string(d))
	}
	return true
}

// Share makes a run directory, or uses one that another process of the same run
// has made.
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

// makeDirectory makes a directory for a run. It returns an error if another
// user could have put a directory or symbolic link in its place.
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

// PreparePhysical makes the directory Physical.
func (d Dir) PreparePhysical() error {
	return makeDirectory(d.Physical(), os.MkdirAll)
}

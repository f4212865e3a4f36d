// Package rundir describes run directories: the names of their files, run.json, the
// spool, and notes of what is not in the directory. It also finds the processes of this
// node that still write to recordings.
//
//	run.json                     command, settings, how the run ended, its jobs
//	recordings/*.node            containers: recordings of several processes
//	recordings/*.rec             recordings of one process each
//	recordings/*.wrong-mpi       a process that uses another MPI than the library was built for
//	recordings/*.nested          another `mpitrace run` that the command started
//	lib/*.so                     the library, if there was no cache for it
//	physical/*.prof              messages counted by the MPI library, if requested
//	profile.arrow                rows of all ranks of all jobs
//	comms.arrow ranks.arrow      communicators and processes
//	trace.<rank>.arrow           events of a rank, if it was traced
//	merged.json                  which recordings the merged files are made of
//	merge.*.part                 intermediate files of a merge, while it goes on
//	pvars.arrow                  readings of the MPI's performance variables, if there are any
//	prof/<program>.<rank>.prof   a rank in Open MPI's format, if requested
//	arrow/<program>.<rank>.arrow a rank in Arrow, if requested
//
// Each file is written completely or not at all.
package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/text"
)

// Dir is the path of a run directory.
type Dir string

// recordingSuffix ends the name of each recording.
const RecordingSuffix = recording.Suffix

// Recordings returns the path of the directory of recordings.
func (d Dir) Recordings() string { return filepath.Join(string(d), "recordings") }

// RecordingFiles returns the paths of the recordings, sorted, those in
// containers included, followed by those that are still in the spool. Of
// several recordings of one process it returns that in the spool, otherwise that
// in a container. A container that cannot be read is in the list itself, so that
// whoever reads the list reports it.
func (d Dir) RecordingFiles() ([]string, error) {
	files, err := filepath.Glob(filepath.Join(Escape(d.Recordings()), "*"+RecordingSuffix))
	if err != nil {
		return nil, err
	}
	spooled, contained := d.SpooledFiles(), Contained(d.Recordings())
	if len(spooled)+len(contained) == 0 {
		return files, nil
	}
	files = append(without(files, contained), contained...)
	slices.Sort(files)
	return append(without(files, spooled), spooled...), nil
}

// without returns the files with other names than the newer ones.
func without(files, newer []string) []string {
	names := make(map[string]bool, len(newer))
	for _, file := range newer {
		names[filepath.Base(file)] = true
	}
	return slices.DeleteFunc(files, func(file string) bool { return names[filepath.Base(file)] })
}

// Containers returns the paths of the containers in the run directory.
func (d Dir) Containers() []string { return Containers(d.Recordings()) }

func Containers(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(Escape(dir), "*"+recording.ContainerSuffix)) // the pattern is well formed
	return files
}

// Contained returns the paths of the recordings in the containers of a
// directory, each process once.
func Contained(dir string) (files []string) {
	met := map[string]bool{}
	for _, container := range Containers(dir) {
		members, err := recording.Members(container)
		if err != nil {
			members = []string{container}
		}
		for _, file := range members {
			if name := filepath.Base(file); !met[name] {
				met[name] = true
				files = append(files, file)
			}
		}
	}
	return files
}

// Spooled returns the spool that run.json names, and the number of recordings
// in it. The spool has recordings while the job runs, or if `mpitrace run` was
// killed or could not collect them. It must be a spool of this user on this
// node, otherwise Spooled returns "" and 0.
func (d Dir) Spooled() (spool string, n int) {
	files := d.SpooledFiles()
	if len(files) == 0 {
		return "", 0
	}
	return filepath.Dir(files[0]), len(files)
}

func (d Dir) SpooledFiles() []string {
	info, err := d.ReadInfo()
	if err != nil || info.spool() == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(Escape(info.spool()), "*"+RecordingSuffix)) // the pattern is well formed
	return files
}

// spool returns the spool that run.json names if it is one of this user; "" if
// it is not. run.json may belong to somebody who wants other files to be read.
func (i *Info) spool() string {
	if i.Spool == "" {
		return ""
	}
	if _, err := OpenSpool(i.Spool); err != nil {
		return ""
	}
	return i.Spool
}

// Profile returns the path of the merged rows.
func (d Dir) Profile() string { return filepath.Join(string(d), "profile.arrow") }

// Comms returns the path of the merged communicators.
func (d Dir) Comms() string { return filepath.Join(string(d), "comms.arrow") }

// Ranks returns the path of the table of processes.
func (d Dir) Ranks() string { return filepath.Join(string(d), "ranks.arrow") }

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

// Pvars returns the path of the readings of performance variables.
func (d Dir) Pvars() string { return filepath.Join(string(d), "pvars.arrow") }

// ConfigFile returns the path of the rewritten copy of the launcher's config
// file (-configfile).
func (d Dir) ConfigFile() string { return filepath.Join(string(d), "configfile") }

// Info returns the path of run.json.
func (d Dir) Info() string { return filepath.Join(string(d), "run.json") }

// Analysis returns the path of the analysis of the traces, as trace.Result, and Waits
// that of the table of waits.
func (d Dir) Analysis() string { return filepath.Join(string(d), "analysis.json") }
func (d Dir) Waits() string    { return filepath.Join(string(d), "waits.arrow") }

// Escape escapes the pattern characters in a directory's name, for
// filepath.Glob.
func Escape(dir string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(dir)
}

// Name returns the default name for a run directory. It contains the program
// and the batch system's job id or, without one, the date and time.
func Name(program, job string, now time.Time) string {
	if job == "" {
		job = now.Format("20060102-150405")
	}
	return "mpitrace-" + text.FileName(program) + "-" + text.FileName(job)
}

// maxRuns is the largest number of names that Create tries.
const maxRuns = 10000

// Create makes a new run directory with the given name or, if it exists,
// name.2, name.3, and so on. The returned path is absolute, because processes
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
		path = abs + "." + strconv.Itoa(n)
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
// *ExistsError if there is already a run in it. If several processes call it at
// the same time for one directory, only the one that makes the directory of
// recordings succeeds.
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

// Discard removes the files of a run that recorded nothing. It removes the
// directory itself only if made is true. It does nothing and returns false if
// there is, or may be, a recording of any process, here or on another node.
func (d Dir) Discard(made bool) bool {
	recordings, err := d.RecordingFiles()
	if err != nil || len(recordings)+len(d.TracedRecordings())+len(d.physicalFiles())+len(d.Uncollected()) > 0 {
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

// Used reports whether the directory contains a run.
func (d Dir) Used() bool {
	recordings, err := d.RecordingFiles()
	return err != nil || len(recordings) > 0 || Exists(d.Info()) || Exists(d.Profile())
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

func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Physical returns the directory of the files in which the MPI library counts
// what it sent. It exists only if these counts were requested.
func (d Dir) Physical() string { return filepath.Join(string(d), "physical") }

// PreparePhysical makes the directory Physical.
func (d Dir) PreparePhysical() error {
	return makeDirectory(d.Physical(), os.MkdirAll)
}

// physicalFiles returns the files in the directory Physical.
func (d Dir) physicalFiles() []string {
	files, _ := filepath.Glob(filepath.Join(Escape(d.Physical()), "*.prof")) // the pattern is well formed
	return files
}

// Package rundir describes run directories: the names of their files, run.json, the spool, and the
// notes that say where recordings are that are not in the directory. It also finds the processes of
// this node that still write to recordings.
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
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
)

// Dir is the path of a run directory.
type Dir string

// RecordingSuffix ends the name of each recording.
const RecordingSuffix = recording.Suffix

// Recordings returns the path of the directory of recordings.
func (d Dir) Recordings() string { return filepath.Join(string(d), "recordings") }

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

// Profile returns the path of the merged rows.
func (d Dir) Profile() string { return d.table("profile") }

// Comms returns the path of the merged communicators.
func (d Dir) Comms() string { return d.table("comms") }

// Ranks returns the path of the table of processes.
func (d Dir) Ranks() string { return d.table("ranks") }

// table returns the path of a merged table: of a file or, if there are many processes, of
// the directory of its parts.
func (d Dir) table(name string) string {
	dir := filepath.Join(string(d), name)
	file := dir + ".arrow"
	if parts, _ := filepath.Glob(filepath.Join(Escape(dir), "part-*.arrow")); len(parts) > 0 && !Exists(file) { // the pattern is well formed
		return dir
	}
	return file
}

// Pvars returns the path of the readings of performance variables.
func (d Dir) Pvars() string { return d.table("pvars") }

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

// maxRuns is the largest number of names that Create tries.
const maxRuns = 10000

func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Physical returns the directory of the files in which the MPI library counts
// what it sent. It exists only if these counts were requested.
func (d Dir) Physical() string { return filepath.Join(string(d), "physical") }

// physicalFiles returns the files in the directory Physical.
func (d Dir) physicalFiles() []string {
	files, _ := filepath.Glob(filepath.Join(Escape(d.Physical()), "*.prof")) // the pattern is well formed
	return files
}

// InputError means that the given paths cannot be used, or cannot be used together.
type InputError struct{ error }

func (e *InputError) Unwrap() error { return e.error }

func InputErrorf(format string, args ...any) error { return &InputError{fmt.Errorf(format, args...)} }

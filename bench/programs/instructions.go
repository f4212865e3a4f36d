package programs

import (
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/bench/measure"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/rundir"
)

// counts are instructions of rank 0 of a program.
type counts struct {
	program program
	own     int64 // of the executable and its libraries, without libc and the MPI
	added   int64 // by our library
}

// countLimit is the time after which a run under callgrind counts as hung and
// is killed. Callgrind takes some 50 times as long as the program alone.
const countLimit = time.Hour

// count runs rank 0 of the program under callgrind, with our library.
func (p program) count(ctx context.Context, dir string, log io.Writer) (counts, error) {
	found := counts{program: p}
	lib, err := p.library(ctx, dir, log)
	if err != nil {
		return found, err
	}
	objects, err := p.objects()
	if err != nil {
		return found, err
	}
	fmt.Fprintf(log, "%s: count instructions\n", p.name)
	ctx, cancel := context.WithTimeout(ctx, countLimit)
	defer cancel()
	record, profile := filepath.Join(dir, "counted"), filepath.Join(dir, "callgrind.out")
	if err := os.RemoveAll(record); err != nil {
		return found, err
	}
	env := []string{"LD_PRELOAD=" + lib, "MPITRACE_DIR=" + record, "MPITRACE_QUIET=1"}
	if _, err := measure.Output(ctx, dir, nil, p.lineVia(measure.Callgrind(profile), env)...); err != nil {
		return found, err
	}
	if recordings, err := rundir.Dir(record).RecordingFiles(); len(recordings) != p.ranks {
		return found, fmt.Errorf("%s left %d recordings, not %d (%v)", p.name, len(recordings), p.ranks, err)
	}
	return found, found.read(profile, filepath.Base(lib), objects)
}

// library returns the library that `mpitrace run` takes for the program.
func (p program) library(ctx context.Context, dir string, log io.Writer) (string, error) {
	c, err := launch.Parse(p.line())
	if err != nil {
		return "", err
	}
	mpi, _, err := launch.Detect(c, "", "")
	if err != nil {
		return "", err
	}
	return launch.BuildLibrary(ctx, mpi, func() (string, error) { return dir, nil }, log)
}

// objects returns the names of the executable and of the libraries that it is
// linked with, without libc and the MPI.
func (p program) objects() ([]string, error) {
	path, err := exec.LookPath(p.command[0])
	if err != nil {
		return nil, err
	}
	file, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer file.Close()
	objects, err := file.ImportedLibraries()
	objects = slices.DeleteFunc(objects, func(name string) bool {
		return strings.HasPrefix(name, "libc.") || strings.HasPrefix(name, "libmpi") || strings.HasPrefix(name, "libopen-")
	})
	if path, linkErr := filepath.EvalSymlinks(path); linkErr == nil {
		objects = append(objects, filepath.Base(path))
	}
	return objects, err
}

// read adds up a profile.
func (c *counts) read(profile, library string, objects []string) error {
	file, err := os.Open(profile)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = measure.ReadProfile(file, func(cost measure.Cost) {
		c.added += addedBy(library, cost)
		if cost.Called == "" && isOneOf(cost.Object, objects) {
			c.own += cost.Instructions
		}
	})
	if err == nil && (c.own == 0 || c.added == 0) {
		err = fmt.Errorf("%d instructions are the program's and %d the library's", c.own, c.added)
	}
	if err != nil {
		return fmt.Errorf("read callgrind's profile of %s: %w", c.program.name, err)
	}
	return nil
}

// addedBy returns what a cost adds to the instructions of a library and of the
// functions that it calls. dl_iterate_phdr calls the library back: those
// instructions are counted in the library, and again in the call of
// dl_iterate_phdr, so they are subtracted once.
func addedBy(library string, c measure.Cost) int64 {
	calls := c.Called != "" && c.Object != c.CalledObject
	switch {
	case c.Object == library && c.Called == "":
		return c.Instructions
	case c.Object == library && calls && !passesOn(c.Function, c.Called):
		return c.Instructions
	case c.CalledObject == library && calls && c.Function == "dl_iterate_phdr":
		return -c.Instructions
	}
	return 0
}

// passesOn reports whether the called function is the one that the wrapper is named after: MPI_Send
// calls PMPI_Send, mpi_send_ calls MPI_SEND, mt_dlclose calls dlclose@@GLIBC_2.34. The instructions
// of such a function are the program's.
func passesOn(wrapper, called string) bool {
	name := measure.MPICall(called)
	if name == "" {
		name, _, _ = strings.Cut(called, "@")
	}
	return strings.Contains(strings.ToLower(wrapper), "_"+name)
}

// isOneOf reports whether an object is one of the named ones. The profile has the names of files,
// libm.so.6.1; an executable has the sonames of libraries, libm.so.6.
func isOneOf(object string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return object == name || strings.HasPrefix(object, name+".")
	})
}

// writeCounts writes the table of instructions, or nothing if none were counted.
func writeCounts(out io.Writer, all []counts) error {
	if len(all) == 0 {
		return nil
	}
	fmt.Fprint(out, "\nInstructions of rank 0, in millions:\n\n")
	lines := [][]string{{"program", "ranks", "the program", "added by mpitrace", "share"}}
	for _, c := range all {
		lines = append(lines, []string{c.program.name, strconv.Itoa(c.program.ranks), fmt.Sprintf("%.1f", float64(c.own)/1e6),
			fmt.Sprintf("%.3f", float64(c.added)/1e6), fmt.Sprintf("%+.3f %%", 100*float64(c.added)/float64(c.own))})
	}
	return measure.WriteTable(out, lines, 1)
}

package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose"
)

// Exec replaces this process by the program argv, recorded. It returns only on
// an error. path is the search path for the program, empty for $PATH. Messages
// for the user go to log.
//
// Exec inspects the program here, not where the job was launched, because the
// environment of this node decides which libraries it loads.
func (r *Recorder) Exec(argv []string, path string, log io.Writer) error {
	file, err := rankProgram(argv, path)
	if err != nil {
		return err
	}
	if mark, _ := UnderLauncher(); os.Getenv(mark) == "0" { // rank 0 reports it for all ranks
		for _, warning := range []string{r.Overridden(os.Environ()), r.PhysicalRisk(file)} {
			if warning != "" {
				fmt.Fprintf(log, "mpitrace: %s\n", text.Line(warning))
			}
		}
	}
	env, why := r.environFor(file, os.Environ())
	if why != "" {
		fmt.Fprintf(log, "mpitrace: not recorded: %s\n", text.Lines(why))
	}
	if err := syscall.Exec(file, argv, env); err != nil {
		return fmt.Errorf("execute %s: %w", file, err)
	}
	return nil
}

// environFor returns the environment for a program. If the program cannot be
// recorded, it returns env unchanged, and the reason in why.
func (r *Recorder) environFor(file string, env []string) (out []string, why string) {
	p, err := Inspect(file)
	if err != nil {
		return env, err.Error()
	}
	otherMPI := p.Kind == UsesMPI && r.Flavour != "" && p.Flavour != r.Flavour
	if (otherMPI || p.Kind.mayUseAnyMPI()) && r.Dispatcher != "" {
		r.Library, otherMPI = r.Dispatcher, false
	}
	if err := interpose.CheckLibrary(r.Library); errors.Is(err, fs.ErrNotExist) {
		return env, fmt.Sprintf("the library is not on this node: %v", err)
	} else if err != nil {
		return env, err.Error()
	}
	switch {
	case p.unreachable():
		return env, p.Err().Error()
	case otherMPI:
		rundir.NoteWrongMPI(rundir.Dir(r.Dir).Recordings(), p.Path, p.Library)
		return env, fmt.Sprintf("%s is linked to %s (%s), the library is for %s; see --mpi",
			p.Path, p.Flavour.Title(), p.Library, r.Flavour.Title())
	}
	return r.Environ(env), ""
}

package launch

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose"
)

// Dispatcher returns the path of the dispatcher, which is preloaded where the
// MPI of a program is not known before it runs. It serves the MPIs that the
// prebuilt libraries serve, those for which a library was compiled earlier, and
// mpi, which may be nil. If the cache cannot be written, it uses the directory
// that elsewhere returns. elsewhere may be nil.
func Dispatcher(ctx context.Context, mpi *MPI, elsewhere func() (string, error), log io.Writer) (string, error) {
	var served []interpose.DispatchedMPI
	for _, m := range append(Remembered(), mpi) {
		if m == nil {
			continue
		}
		if lib, err := FindLibrary(m); err == nil {
			served = append(served, interpose.DispatchedMPI{MPI: m.Library, Library: lib})
		}
	}
	path, err := buildOrElsewhere(interpose.BuildOptions{CC: compiler(mpi), Log: log, Progress: buildProgress(log, time.Now)}, elsewhere, log,
		func(o interpose.BuildOptions) (string, error) { return interpose.Dispatcher(ctx, o, served) })
	if err != nil {
		return "", fmt.Errorf("make the library for all MPIs: %w", err)
	}
	return path, nil
}

// mayUseAnyMPI reports whether the command may start programs of any MPI: its
// programs are not known (a script, a file for srun --multi-prog), and no launcher
// of one MPI starts them.
func (c *Command) mayUseAnyMPI() bool {
	return len(c.Programs) == 0 && (c.Launcher == nil || c.Launcher.flavours() == nil)
}

// isUnlinked reports whether the command's program is a script, or not linked
// to an MPI.
func (c *Command) isUnlinked() bool {
	p, err := c.program()
	return len(c.Programs) == 0 || err == nil && p != nil && p.Kind.mayUseAnyMPI()
}

// DispatcherForUnlinked returns the path of the dispatcher if a launcher starts a
// program that is linked to no MPI, and so may load any (docs/decisions/0080). It
// returns "" if the command has no such program, or if the user named the MPI.
// mpi, elsewhere and log are as for Dispatcher.
func DispatcherForUnlinked(ctx context.Context, c *Command, which Choice, mpi *MPI, elsewhere func() (string, error), log io.Writer) string {
	if which.isExplicit() || c.mayUseAnyMPI() || !c.hasUnlinked() {
		return ""
	}
	path, err := Dispatcher(ctx, mpi, elsewhere, log)
	if err != nil {
		fmt.Fprintf(log, "mpitrace: %s: only programs that use %s are recorded\n", text.Lines(err.Error()), mpi)
		return ""
	}
	return path
}

// hasUnlinked reports whether the command may start a program that is not linked
// to an MPI, or that only another node has.
func (c *Command) hasUnlinked() bool {
	return len(c.Programs) == 0 || slices.ContainsFunc(c.Programs, func(i Invocation) bool {
		path, err := i.lookup(i.Words[0])
		if err != nil {
			return true
		}
		p, err := Inspect(path)
		return err == nil && p.Kind.mayUseAnyMPI()
	})
}

// compiler returns a C compiler. The dispatcher needs nothing of an MPI.
func compiler(mpi *MPI) string {
	for _, cc := range []string{"cc", "gcc", "clang"} {
		if _, err := exec.LookPath(cc); err == nil {
			return cc
		}
	}
	if mpi != nil && mpi.CC != "" {
		return mpi.CC
	}
	return "cc"
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
)

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what is found here, what is missing, and whether recording works",
		Long: `Look for MPIs, their compiler wrappers and what else mpitrace needs; then compile
a tiny program with each MPI, run it recorded, and check what was recorded. Of an
MPI without a compiler wrapper, see whether an installed library fits it. The
exit status is 1 if no MPI here can be recorded.`,
		Example: "  mpitrace doctor",
		Args:    asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := findSettings(cmd.Flags()); err != nil { // the cache's place is one
				return usage(err)
			}
			return doctor(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

func doctor(ctx context.Context, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w, "mpitrace\t%s\n", versionString())
	place(w, "cache", interpose.CacheDir)
	place(w, "compiler", func() (string, error) { return exec.LookPath("cc") })
	fmt.Fprintf(w, "/dev/shm\t%s\n", sharedMemory())
	mpis, errs := launch.FindAll()
	for _, err := range errs {
		fmt.Fprintf(w, "skipped\t%s\n", text.Lines(err.Error()))
	}
	working := 0
	for _, mpi := range mpis {
		fmt.Fprintf(w, "%s\t%s\n\tlibrary %s\n", mpi, mpi.CC, mpi.Library)
		if err := tryPreload(ctx, mpi); err != nil {
			fmt.Fprintf(w, "\tdoes not work: %s\n", text.Lines(err.Error()))
			continue
		}
		working++
		fmt.Fprintf(w, "\tworks: a program was compiled, run and recorded\n")
	}
	without := withoutWrapper(mpis)
	for _, mpi := range without {
		lib, ok := findLibrary(mpi)
		words := "cannot be recorded: there is neither a compiler wrapper (mpicc) for it nor a library that was built for it"
		if ok {
			working++
			words = fmt.Sprintf("can be recorded: %s is for it (not tried, as nothing here compiles an MPI program)", lib)
		}
		fmt.Fprintf(w, "%s\t%s\n\t%s\n", mpi, mpi.Library, text.Lines(words))
	}
	switch {
	case len(mpis)+len(without) == 0:
		return errors.New("no MPI found: install one (Debian: apt install libopenmpi-dev openmpi-bin, or libmpich-dev mpich), or load its module")
	case working == 0:
		return errors.New("recording works with none of the MPIs found")
	}
	return nil
}

// withoutWrapper lists the MPIs here that are not among those found by their
// compiler wrappers.
func withoutWrapper(found []*launch.MPI) []*launch.MPI {
	return slices.DeleteFunc(launch.Installations(), func(m *launch.MPI) bool {
		return slices.ContainsFunc(found, func(f *launch.MPI) bool { return f.Library == m.Library })
	})
}

// place prints where something is, or why it is not.
func place(w io.Writer, what string, find func() (string, error)) {
	path, err := find()
	if err != nil {
		path = "missing: " + err.Error()
	}
	fmt.Fprintf(w, "%s\t%s\n", what, text.Lines(path))
}

// sharedMemory tells whether recordings can be mapped in memory.
func sharedMemory() string {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &st); err != nil {
		return fmt.Sprintf("missing (%v): recordings are mapped in the run directory", err)
	}
	const mib = 1 << 20
	words := fmt.Sprintf("%d MiB free of %d", st.Bavail*uint64(st.Bsize)/mib, st.Blocks*uint64(st.Bsize)/mib)
	if st.Bavail*uint64(st.Bsize) < run.SpoolRoom {
		words += ": too little, recordings are mapped in the run directory"
	}
	return words
}

const trySource = `#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
`

const (
	tryBarriers = 3
	tryTimeout  = time.Minute
)

// tryPreload compiles a program that calls three barriers, runs it alone with
// the library, and compares what was recorded.
func tryPreload(ctx context.Context, mpi *launch.MPI) error {
	cache, _ := interpose.CacheDir() // without one the system's directory for such files has to do
	dir, err := os.MkdirTemp(cache, "doctor-")
	if err != nil && cache != "" {
		dir, err = os.MkdirTemp("", "mpitrace-doctor-")
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	lib, err := buildLibrary(ctx, mpi, func() (string, error) { return dir, nil }, io.Discard)
	if err != nil {
		return err
	}
	source, bin := filepath.Join(dir, "try.c"), filepath.Join(dir, "try")
	if err := os.WriteFile(source, []byte(trySource), 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, mpi.CC, source, "-o", bin).CombinedOutput(); err != nil {
		return fmt.Errorf("compile: %w: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin)
	cmd.Env = (&launch.Recorder{Library: lib, Dir: dir}).Environ(os.Environ())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run: %w: %s", err, out)
	}
	return checkTry(dir)
}

func checkTry(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "recordings", "*.rec"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%d recordings of one process: the loader ignores LD_PRELOAD here, or the library found another MPI", len(files))
	}
	p, err := recording.ReadFile(files[0])
	if err != nil {
		return err
	}
	barriers := uint64(0)
	for _, r := range p.Rows {
		if r.Call == "Barrier" {
			barriers += r.Calls
		}
	}
	if p.State != profile.Finalized || barriers != tryBarriers {
		return fmt.Errorf("recorded %d barriers of %d, state %s", barriers, tryBarriers, p.State)
	}
	return nil
}

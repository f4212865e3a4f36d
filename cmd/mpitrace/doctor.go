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
		Short: "Check which MPIs are installed, what is missing, and whether recording works",
		Long: `Look for MPIs, their compiler wrappers and everything else that mpitrace needs.
Then compile a small program with each MPI, record a run of it, and check the
recording. For an MPI without a compiler wrapper, check whether an installed
library fits it. The exit status is 1 if no MPI on this machine can be recorded.`,
		Example: "  mpitrace doctor",
		Args:    asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := findSettings(cmd.Flags()); err != nil { // sets the place of the cache
				return usage(err)
			}
			return doctor(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

func doctor(ctx context.Context, out io.Writer) error {
	found := text.NewTextTable()
	defer func() { found.Write(out) }()
	found.Add("mpitrace", versionString())
	found.Add("cache", place(interpose.CacheDir()))
	found.Add("compiler", place(exec.LookPath("cc")))
	found.Add("/dev/shm", sharedMemory())
	mpis, errs := launch.FindAll()
	for _, err := range errs {
		found.Add("skipped", text.Lines(err.Error()))
	}
	working := 0
	for _, mpi := range mpis {
		found.Add(mpi.String(), mpi.CC)
		found.Add("", "library "+mpi.Library)
		if err := tryPreload(ctx, mpi); err != nil {
			found.Add("", "does not work: "+text.Lines(err.Error()))
			continue
		}
		working++
		found.Add("", "works: a program was compiled, run and recorded")
	}
	without := withoutWrapper(mpis)
	for _, mpi := range without {
		lib, ok := launch.FindLibrary(mpi)
		words := "cannot be recorded: there is neither a compiler wrapper (mpicc) for it nor a library that was built for it"
		if ok {
			working++
			words = fmt.Sprintf("can be recorded: %s is for it (not tried, as nothing here compiles an MPI program)", lib)
		}
		found.Add(mpi.String(), mpi.Library)
		found.Add("", text.Lines(words))
	}
	switch {
	case len(mpis)+len(without) == 0:
		return errors.New("no MPI found: install one (Debian: apt install libopenmpi-dev openmpi-bin, or libmpich-dev mpich), or load its module")
	case working == 0:
		return errors.New("recording works with none of the MPIs found")
	}
	return nil
}

// withoutWrapper lists the MPIs on this node that are not in found, the MPIs
// with a compiler wrapper.
func withoutWrapper(found []*launch.MPI) []*launch.MPI {
	return slices.DeleteFunc(launch.Installations(), func(m *launch.MPI) bool {
		return slices.ContainsFunc(found, func(f *launch.MPI) bool { return f.Library == m.Library })
	})
}

// place returns a path, or a text that says why it was not found.
func place(path string, err error) string {
	if err != nil {
		path = "missing: " + err.Error()
	}
	return text.Lines(path)
}

// sharedMemory returns a text that says whether /dev/shm has room for
// recordings.
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

// tryPreload compiles a program that calls three barriers, runs it as one
// process with the library, and checks the recording.
func tryPreload(ctx context.Context, mpi *launch.MPI) error {
	cache, _ := interpose.CacheDir() // empty if there is none, for the system's temporary directory
	dir, err := os.MkdirTemp(cache, "doctor-")
	if err != nil && cache != "" {
		dir, err = os.MkdirTemp("", "mpitrace-doctor-")
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	lib, err := launch.BuildLibrary(ctx, mpi, func() (string, error) { return dir, nil }, io.Discard)
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
	files, err := run.Dir(dir).RecordingFiles()
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

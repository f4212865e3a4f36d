package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/profile"
)

// Doctor prints the MPIs of this machine and what else recording needs, and whether
// recording works. It returns an error if no MPI can be recorded.
func Doctor(ctx context.Context, out io.Writer, version string) error {
	found := text.NewTextTable()
	defer func() { found.Write(out) }()
	found.Add("mpitrace", version)
	found.Add("cache", pathOrReason(interpose.CacheDir()))
	found.Add("compiler", pathOrReason(exec.LookPath("cc")))
	found.Add("/dev/shm", sharedMemoryText())
	mpis, errs := FindAll()
	for _, err := range errs {
		found.Add("skipped", text.Lines(err.Error()))
	}
	withoutWrapper := slices.DeleteFunc(Installations(), func(m *MPI) bool {
		return slices.ContainsFunc(mpis, func(found *MPI) bool { return found.Library == m.Library })
	})
	all := slices.Concat(mpis, withoutWrapper)
	working := 0
	for _, mpi := range all {
		if mpi.CC != "" {
			found.Add(mpi.String(), mpi.CC)
			found.Add("", "library "+mpi.Library)
		} else {
			found.Add(mpi.String(), mpi.Library)
		}
		works, lines := examine(ctx, mpi)
		if works {
			working++
		}
		for _, line := range lines {
			found.Add("", text.Lines(line))
		}
	}
	switch {
	case len(all) == 0:
		return errors.New("no MPI found: install one (Debian: apt install libopenmpi-dev openmpi-bin, or libmpich-dev mpich), or load its module")
	case working == 0:
		return errors.New("recording works with none of the installed MPIs")
	}
	return nil
}

// examine returns whether an MPI can be recorded, and lines for the user: how
// its library is found, and whether a test worked.
func examine(ctx context.Context, mpi *MPI) (works bool, lines []string) {
	o := interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library}
	why := interpose.WhyPrebuilt(o)
	lib, err := FindLibrary(mpi)
	switch noRoom := (*interpose.NoRoomError)(nil); {
	case errors.As(err, &noRoom):
		return false, []string{"cannot be recorded: " + noRoom.Error()}
	case err != nil && mpi.CC == "":
		return false, []string{"cannot be recorded: there is neither a compiler wrapper (mpicc) for it nor a library that was built for it (" + why + ")",
			"Install the MPI's development files and a C compiler, or an mpitrace that has prebuilt libraries"}
	case !interpose.HasPrebuilt(o):
		why = fmt.Sprintf("compiled with the MPI's compiler wrapper, as %s", why)
	}
	if err == nil {
		lines = append(lines, fmt.Sprintf("can be recorded with %s (%s)", lib, why))
	} else {
		lines = append(lines, "the library is "+why)
	}
	if mpi.CC == "" && !interpose.HasLister(o) {
		return true, append(lines, "not tested: there is neither a compiler wrapper nor a prebuilt program")
	}
	if err := tryPreload(ctx, mpi); err != nil {
		return false, append(lines, "does not work: "+err.Error())
	}
	if mpi.CC == "" {
		return true, append(lines, "works: a prebuilt program was run and recorded")
	}
	return true, append(lines, "works: a program was compiled, run and recorded")
}

// pathOrReason returns a path, or a text that says why it was not found.
func pathOrReason(path string, err error) string {
	if err != nil {
		path = "missing: " + err.Error()
	}
	return text.Lines(path)
}

// sharedMemoryText returns a text that says whether /dev/shm has room for
// recordings.
func sharedMemoryText() string {
	var st syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &st); err != nil {
		return fmt.Sprintf("missing (%v): recordings are mapped in the run directory", err)
	}
	const mib = 1 << 20
	words := fmt.Sprintf("%d MiB free of %d", st.Bavail*uint64(st.Bsize)/mib, st.Blocks*uint64(st.Bsize)/mib)
	if st.Bavail*uint64(st.Bsize) < rundir.SpoolRoom {
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

// tryPreload runs a program that calls three barriers, as one process with the
// library, and checks the recording.
func tryPreload(ctx context.Context, mpi *MPI) error {
	cache, _ := interpose.CacheDir() // empty if there is none, for the system's temporary directory
	dir, remove, err := atomicfile.MakeTemporary(cache, "doctor-")
	if err != nil && cache != "" {
		dir, remove, err = atomicfile.MakeTemporary("", "mpitrace-doctor-")
	}
	if err != nil {
		return err
	}
	defer remove()
	lib, err := BuildLibrary(ctx, mpi, func() (string, error) { return dir, nil }, io.Discard)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	argv, env, err := tryProgram(ctx, mpi, dir)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	env = append(env, "OMPI_MCA_ess_singleton_isolated=1") // Open MPI 4 starts no daemon
	cmd.Env = (&Recorder{Library: lib, Dir: dir}).Environ(env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run: %w: %s", err, out)
	}
	return checkTry(dir)
}

// tryProgram returns the command line and the environment of the program: it compiles one, or takes
// the prebuilt one if the MPI has no compiler wrapper. The prebuilt program is not linked to the
// MPI, so the MPI is preloaded too.
func tryProgram(ctx context.Context, mpi *MPI, dir string) (argv, env []string, err error) {
	if mpi.CC == "" {
		lister, err := interpose.BuildLister(ctx, interpose.BuildOptions{MPI: mpi.Library, Dir: dir})
		env := setenv(os.Environ(), "LD_PRELOAD", preload(mpi.Library, os.Getenv("LD_PRELOAD")))
		return []string{lister, mpi.Library, "barriers", fmt.Sprint(tryBarriers)}, env, err
	}
	bin, out, err := compileC(ctx, mpi.CC, trySource, dir, os.Environ())
	if err != nil {
		return nil, nil, fmt.Errorf("compile: %w: %s", err, out)
	}
	return []string{bin}, os.Environ(), nil
}

func checkTry(dir string) error {
	files, err := rundir.Dir(dir).RecordingFiles()
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

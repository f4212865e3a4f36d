package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose"
)

// A Choice selects the MPI that the library is for, by the settings mpi and cc.
type Choice struct{ MPI, CC string }

// Chosen returns what the settings select: a compiler wrapper in a file does not
// overrule --mpi.
func Chosen(v settings.Values) Choice {
	mpi, cc := v.Of("mpi"), v.Of("cc")
	if mpi.Source > cc.Source {
		return Choice{mpi.Text, ""}
	}
	return Choice{mpi.Text, cc.Text}
}

// FindLibrary finds the library for an MPI without compiling: the installed one if
// it is what would be built, else the one in the cache.
func FindLibrary(mpi *MPI) (lib string, ok bool) {
	o := interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library}
	for _, lib := range installedLibraries(mpi.Flavour) {
		if interpose.CheckLibrary(lib) == nil && interpose.Fits(lib, o) {
			return lib, true
		}
	}
	return interpose.Find(o)
}

// BuildLibrary finds the library for an MPI, or compiles it into the cache; where
// there can be no cache, into the directory that elsewhere makes (may be nil).
func BuildLibrary(ctx context.Context, mpi *MPI, elsewhere func() (string, error), log io.Writer) (string, error) {
	if lib, ok := FindLibrary(mpi); ok {
		return lib, nil
	}
	o := interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library}
	fmt.Fprintf(log, "mpitrace: building the library for %s (first time)…\n", mpi)
	lib, err := interpose.Build(ctx, o)
	var noRoom *interpose.NoRoomError
	if errors.As(err, &noRoom) && elsewhere != nil {
		if o.Dir, err = elsewhere(); err != nil {
			return "", errors.Join(noRoom, err)
		}
		fmt.Fprintf(log, "mpitrace: %s: the library is built into %s, for this run alone\n", text.Lines(noRoom.Error()), o.Dir)
		return interpose.Build(ctx, o)
	}
	if err == nil {
		Remember(mpi)
	}
	return lib, err
}

// NotDetectedError says why the MPI of a command was not detected.
type NotDetectedError struct{ error }

func (e *NotDetectedError) Unwrap() error { return e.error }

// DetectLibrary finds the MPI of a command and the library for it. Where the MPI
// has no compiler wrapper around, an installed library serves.
func DetectLibrary(ctx context.Context, c *Command, which Choice, elsewhere func() (string, error), log io.Writer) (*MPI, string, error) {
	mpi, note, err := Detect(c, which.MPI, which.CC)
	if err != nil {
		if mpi := withoutCompiler(c, which, err); mpi != nil {
			if lib, ok := libraryWithoutCompiler(mpi, log); ok {
				return mpi, lib, interpose.CheckLibrary(lib)
			}
		}
		return nil, "", &NotDetectedError{err}
	}
	if note != "" {
		fmt.Fprintln(log, "mpitrace:", text.Lines(note))
	}
	lib, err := BuildLibrary(ctx, mpi, elsewhere, log)
	if err != nil {
		return nil, "", err
	}
	return mpi, lib, interpose.CheckLibrary(lib)
}

// withoutCompiler is the MPI of a command whose compiler wrapper is missing, which
// is why it was not detected; nil if it is not known or something else is wrong.
func withoutCompiler(c *Command, which Choice, err error) *MPI {
	var missing *NoCompilerError
	switch {
	case which.CC != "":
		return nil
	case errors.As(err, &missing) && missing.Flavour != "" && missing.Library != "":
		return &MPI{Flavour: missing.Flavour, Library: missing.Library}
	case missing != nil || errors.Is(err, ErrNoMPI):
		return InstalledFor(c, which.MPI)
	}
	return nil
}

// libraryWithoutCompiler finds a library for an MPI that none can be built for:
// one that was built for exactly this MPI, else for one of its family.
func libraryWithoutCompiler(mpi *MPI, log io.Writer) (lib string, ok bool) {
	if lib, ok := FindLibrary(mpi); ok {
		return lib, true
	}
	libs := installedLibraries(mpi.Flavour)
	if len(libs) == 0 {
		return "", false
	}
	fmt.Fprintf(log, "mpitrace: %s was built for another version of %s than %s, which has no compiler wrapper here to build one: calls that the library does not know are not recorded\n",
		libs[0], mpi.Flavour.Title(), mpi.Library)
	return libs[0], true
}

// RankLibrary finds the library for a rank without compiling anything, as many
// ranks ask at once: for the MPI that was named, else for the one that the
// program is linked to, else for the launcher's.
func RankLibrary(argv []string, which Choice) (lib string, flavour run.Flavour, err error) {
	mpis, err := rankMPIs(argv, which)
	if err != nil {
		return "", "", err
	}
	for _, mpi := range mpis {
		if lib, ok := FindLibrary(mpi); ok && (mpi.CC != "" || mpi.Library != "") {
			return lib, mpi.Flavour, nil
		}
	}
	for _, mpi := range mpis {
		if libs := installedLibraries(mpi.Flavour); len(libs) > 0 {
			return libs[0], mpi.Flavour, nil
		}
	}
	return "", "", errors.New("no library for this MPI yet, and ranks do not compile one: run `mpitrace build` once, outside of the job" +
		" (with --mpi or --cc if this has them)")
}

// rankMPIs are the MPIs that a rank may be of, likely first.
func rankMPIs(argv []string, which Choice) ([]*MPI, error) {
	if which.MPI != "auto" || which.CC != "" {
		return Recall(which.MPI, which.CC), nil
	}
	p, err := InspectCommand(argv)
	if err != nil {
		return nil, err
	}
	switch p.Kind {
	case UsesMPI:
		if mpi := Known(p.Library); mpi != nil {
			return []*MPI{mpi}, nil
		}
		return []*MPI{{Flavour: p.Flavour, Library: p.Library}}, nil
	case Script, NoMPI:
		if f := LaunchedFlavour(); f != "" {
			return append(Recall(string(f), ""), &MPI{Flavour: f}), nil
		}
	}
	return nil, p.Err()
}

// installedLibraries are lib/libmpitrace-<mpi>*.so beside the directory of this
// program, where `make install` puts them: of several versions of an MPI the first
// has the plain name, and comes first.
func installedLibraries(f run.Flavour) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	dir := filepath.Join(filepath.Dir(filepath.Dir(self)), "lib")
	plain := LibraryName(f)
	stem := strings.TrimSuffix(plain, ".so") + "-"
	entries, _ := os.ReadDir(dir) // without it none is installed
	var found []string
	for _, e := range entries {
		switch name := e.Name(); {
		case name == plain:
			found = slices.Insert(found, 0, filepath.Join(dir, name))
		case strings.HasPrefix(name, stem) && strings.HasSuffix(name, ".so"):
			found = append(found, filepath.Join(dir, name))
		}
	}
	return found
}

// LibraryName returns the file name of the library for an MPI.
func LibraryName(f run.Flavour) string { return "libmpitrace-" + string(f) + ".so" }

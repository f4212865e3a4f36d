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
	"time"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/interpose"
)

// A Choice holds the settings mpi and cc, which select the MPI to record.
type Choice struct{ MPI, CC string }

// Chosen returns the selection by the settings. If mpi comes from a stronger
// source than cc, cc is ignored: a wrapper in a configuration file does not
// override --mpi.
func Chosen(v settings.Values) Choice {
	mpi, cc := v.Of("mpi"), v.Of("cc")
	if mpi.Source > cc.Source {
		return Choice{mpi.Text, ""}
	}
	return Choice{mpi.Text, cc.Text}
}

// isExplicit reports whether the user selected the MPI.
func (c Choice) isExplicit() bool { return c.MPI != "auto" || c.CC != "" }

// FindLibrary finds the library for an MPI without compiling. It takes the
// installed library if that equals the one that would be built, else the one in
// the cache. Its errors are those of interpose.Find.
func FindLibrary(mpi *MPI) (string, error) {
	o := interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library}
	for _, lib := range installedLibraries(mpi.Flavour) {
		if interpose.CheckLibrary(lib) == nil && interpose.Fits(lib, o) {
			return lib, nil
		}
	}
	return interpose.Find(o)
}

// BuildLibrary finds the library for an MPI, or compiles it into the cache. If
// the cache cannot be written, it compiles into the directory that elsewhere
// returns. elsewhere may be nil.
func BuildLibrary(ctx context.Context, mpi *MPI, elsewhere func() (string, error), log io.Writer) (string, error) {
	if lib, err := FindLibrary(mpi); err == nil {
		return lib, nil
	}
	o := interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library}
	compiles := !interpose.HasPrebuilt(o)
	if compiles {
		fmt.Fprintf(log, "mpitrace: building the library for %s with %s (first time; seconds, or minutes on a busy node)\n", mpi, mpi.CC)
		o.Progress = buildProgress(log, time.Now)
	}
	lib, err := buildOrElsewhere(o, elsewhere, log, func(o interpose.BuildOptions) (string, error) { return interpose.Build(ctx, o) })
	if err == nil {
		Remember(mpi) // has no effect without a cache
		if compiles {
			fmt.Fprintf(log, "mpitrace: the library is %s\n", lib)
		}
	}
	return lib, err
}

// buildOrElsewhere calls build, and again with the directory that elsewhere returns if
// the cache cannot be written. elsewhere may be nil.
func buildOrElsewhere(o interpose.BuildOptions, elsewhere func() (string, error), log io.Writer, build func(interpose.BuildOptions) (string, error)) (string, error) {
	file, err := build(o)
	var noRoom *interpose.NoRoomError
	if !errors.As(err, &noRoom) || elsewhere == nil {
		return file, err
	}
	if o.Dir, err = elsewhere(); err != nil {
		return "", errors.Join(noRoom, err)
	}
	fmt.Fprintf(log, "mpitrace: %s: the library is written to %s, for this run alone\n", text.Lines(noRoom.Error()), o.Dir)
	return build(o)
}

// UsageError reports that the command line or the settings are wrong, and why.
type UsageError struct{ error }

func (e *UsageError) Unwrap() error { return e.error }

// DetectLibrary returns the MPI of a command and the library for it: the
// dispatcher if the command may start programs of any MPI, as a script does, or
// if its MPI is not known.
func DetectLibrary(ctx context.Context, c *Command, which Choice, elsewhere func() (string, error), log io.Writer) (*MPI, string, error) {
	mpi, lib, err := detectLibrary(ctx, c, which, elsewhere, log)
	if which.isExplicit() || (err == nil && !c.mayUseAnyMPI()) || (err != nil && !c.isUnlinked()) {
		return mpi, lib, err
	}
	if err != nil && !interpose.HasPrebuiltDispatcher() {
		return nil, "", err // without a library for the dispatcher to open
	}
	path, dispatcherErr := Dispatcher(ctx, mpi, elsewhere, log)
	switch {
	case dispatcherErr != nil && err != nil:
		return nil, "", errors.Join(dispatcherErr, err)
	case dispatcherErr != nil:
		fmt.Fprintf(log, "mpitrace: %s: only programs that use %s are recorded\n", text.Lines(dispatcherErr.Error()), mpi)
		return mpi, lib, nil
	}
	if mpi == nil {
		mpi = &MPI{Flavour: rundir.Unknown}
	}
	return mpi, path, nil
}

// detectLibrary returns the MPI of a command and the library for it. If the MPI
// has no compiler wrapper, it takes an installed library.
func detectLibrary(ctx context.Context, c *Command, which Choice, elsewhere func() (string, error), log io.Writer) (*MPI, string, error) {
	mpi, note, err := Detect(c, which.MPI, which.CC)
	if err != nil {
		if mpi := WithoutCompiler(c, which, err); mpi != nil {
			if lib, ok := libraryWithoutCompiler(mpi, log); ok {
				return mpi, lib, interpose.CheckLibrary(lib)
			}
			err = WithoutPrebuilt(mpi, err)
		}
		return nil, "", &UsageError{err}
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

// WithoutCompiler returns the MPI of a command that was not detected because
// its compiler wrapper is missing, for the error of Detect. It returns nil if the
// MPI is unknown or err has another cause. c may be nil.
func WithoutCompiler(c *Command, which Choice, err error) *MPI {
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

// WithoutPrebuilt adds to the error for a missing compiler wrapper why there is no
// prebuilt library either.
func WithoutPrebuilt(mpi *MPI, err error) error {
	if interpose.HasPrebuilt(interpose.BuildOptions{MPI: mpi.Library}) {
		return err // it could not be written
	}
	return fmt.Errorf("%s; %w. Or use an mpitrace that has prebuilt libraries",
		interpose.WhyPrebuilt(interpose.BuildOptions{MPI: mpi.Library}), err)
}

// libraryWithoutCompiler finds a library for an MPI that has no compiler
// wrapper: one that was built for exactly this MPI, else one for the same
// flavour.
func libraryWithoutCompiler(mpi *MPI, log io.Writer) (lib string, ok bool) {
	if lib, err := FindLibrary(mpi); err == nil {
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

// RankRecorder returns a Recorder with the libraries for a rank. It compiles
// nothing because many ranks call it at the same time. It takes the MPI that the
// settings name, else the one that the program is linked to, else the launcher's.
//
// If the program is linked to no MPI, it takes the dispatcher. Where there is none,
// it takes the library for the launcher's MPI.
func RankRecorder(argv []string, which Choice) (*Recorder, error) {
	if which.isExplicit() {
		return rankRecorder(Recall(which.MPI, which.CC))
	}
	path, err := rankProgram(argv, "")
	if err != nil {
		return nil, err
	}
	p, err := Inspect(path)
	if err != nil {
		return nil, err
	}
	if p.Kind.mayUseAnyMPI() {
		dispatcher, err := interpose.FindDispatcher()
		if err == nil {
			return &Recorder{Library: dispatcher, Flavour: LaunchedFlavour()}, nil
		}
		if errors.As(err, new(*interpose.NoRoomError)) {
			return nil, err
		}
	}
	mpis := rankMPIs(p)
	if mpis == nil {
		return nil, p.Err()
	}
	return rankRecorder(mpis)
}

// rankRecorder returns a Recorder with the library for the first of the MPIs that
// has one.
func rankRecorder(mpis []*MPI) (*Recorder, error) {
	var unwritable *interpose.NoRoomError
	for _, mpi := range mpis {
		lib, err := FindLibrary(mpi)
		if err == nil && (mpi.CC != "" || mpi.Library != "") {
			return &Recorder{Library: lib, Flavour: mpi.Flavour}, nil
		}
		_ = errors.As(err, &unwritable)
	}
	for _, mpi := range mpis {
		if libs := installedLibraries(mpi.Flavour); len(libs) > 0 {
			return &Recorder{Library: libs[0], Flavour: mpi.Flavour}, nil
		}
	}
	if unwritable != nil {
		return nil, unwritable
	}
	why := "no MPI was found"
	if len(mpis) > 0 {
		why = interpose.WhyPrebuilt(interpose.BuildOptions{MPI: mpis[0].Library})
	}
	return nil, fmt.Errorf("no library for this MPI yet (%s), and ranks do not compile one: run `mpitrace build` once, outside of the job"+
		" (with --mpi or --cc if this has them)", why)
}

// rankMPIs returns the MPIs that a rank may use, the most likely first: the one
// that the program is linked to, else the launcher's. It returns nil if neither
// is known.
func rankMPIs(p *Program) []*MPI {
	if p.Kind == UsesMPI {
		if mpi := Known(p.Library); mpi != nil {
			return []*MPI{mpi}
		}
		return []*MPI{{Flavour: p.Flavour, Library: p.Library}}
	}
	if f := LaunchedFlavour(); p.Kind.mayUseAnyMPI() && f != "" {
		return append(Recall(string(f), ""), &MPI{Flavour: f})
	}
	return nil
}

// installedLibraries lists ../lib/libmpitrace-<mpi>*.so, relative to the
// directory of this program, where `make install` puts them. If several
// versions of an MPI are installed, the library with the plain name comes
// first.
func installedLibraries(f rundir.Flavour) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	dir := filepath.Join(filepath.Dir(filepath.Dir(realPath(self))), "lib")
	plain := LibraryName(f)
	stem := strings.TrimSuffix(plain, ".so") + "-"
	entries, _ := os.ReadDir(dir) // without the directory none is installed
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
func LibraryName(f rundir.Flavour) string { return "libmpitrace-" + string(f) + ".so" }

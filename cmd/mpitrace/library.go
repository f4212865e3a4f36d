package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mpitrace/mpitrace/internal/launch"
	"github.com/mpitrace/mpitrace/internal/printable"
	"github.com/mpitrace/mpitrace/internal/settings"
	"github.com/mpitrace/mpitrace/interpose"
)

// choice is which MPI the library is to be for.
type choice struct{ mpi, cc string }

// chosen is what the settings say: a compiler wrapper in a file is not to stand
// against --mpi.
func chosen(v settings.Values) choice {
	mpi, cc := v.Of("mpi"), v.Of("cc")
	if mpi.Source > cc.Source {
		return choice{mpi.Text, ""}
	}
	return choice{mpi.Text, cc.Text}
}

// buildLibrary compiles the library for an MPI, or finds it in the cache.
func buildLibrary(ctx context.Context, mpi *launch.MPI, log io.Writer) (string, error) {
	o := interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library}
	if lib, ok := interpose.Find(o); ok {
		return lib, nil
	}
	fmt.Fprintf(log, "mpitrace: building the library for %s (first time)…\n", mpi)
	lib, err := interpose.Build(ctx, o)
	if err == nil {
		launch.Remember(mpi)
	}
	return lib, err
}

// detectLibrary finds the MPI of a command and the library for it. Where the
// MPI has no compiler wrapper around, the library that is installed beside
// this program serves.
func detectLibrary(ctx context.Context, c *launch.Command, which choice, log io.Writer) (*launch.MPI, string, error) {
	mpi, note, err := launch.Detect(c, which.mpi, which.cc)
	var missing *launch.NoCompilerError
	if errors.As(err, &missing) && missing.Flavour != "" {
		if lib, ok := installedLibrary(missing.Flavour); ok {
			return &launch.MPI{Flavour: missing.Flavour, Library: missing.Library}, lib, interpose.CheckLibrary(lib)
		}
	}
	if err != nil {
		return nil, "", usage(err)
	}
	if note != "" {
		fmt.Fprintln(log, "mpitrace:", printable.Lines(note))
	}
	lib, err := buildLibrary(ctx, mpi, log)
	if err != nil {
		return nil, "", err
	}
	return mpi, lib, interpose.CheckLibrary(lib)
}

// rankLibrary finds the library for a rank without compiling anything, as many
// ranks ask at once: for the MPI that was named, else for the one that the
// program is linked to, else for the launcher's.
func rankLibrary(argv []string, which choice) (lib string, flavour launch.Flavour, err error) {
	mpis, err := rankMPIs(argv, which)
	if err != nil {
		return "", "", err
	}
	for _, mpi := range mpis {
		if lib, ok := interpose.Find(interpose.BuildOptions{CC: mpi.CC, MPI: mpi.Library}); ok && mpi.CC != "" {
			return lib, mpi.Flavour, nil
		}
	}
	for _, mpi := range mpis {
		if lib, ok := installedLibrary(mpi.Flavour); ok {
			return lib, mpi.Flavour, nil
		}
	}
	return "", "", errors.New("no library for this MPI yet, and ranks do not compile one: run `mpitrace build` once, outside of the job" +
		" (with --mpi or --cc if this has them)")
}

// rankMPIs are the MPIs that a rank may be of, likely first.
func rankMPIs(argv []string, which choice) ([]*launch.MPI, error) {
	if which.mpi != "auto" || which.cc != "" {
		return launch.Recall(which.mpi, which.cc), nil
	}
	p, err := launch.InspectCommand(argv)
	if err != nil {
		return nil, err
	}
	switch p.Kind {
	case launch.UsesMPI:
		if mpi := launch.Known(p.Library); mpi != nil {
			return []*launch.MPI{mpi}, nil
		}
		return []*launch.MPI{{Flavour: p.Flavour, Library: p.Library}}, nil
	case launch.Script, launch.NoMPI:
		if f := launch.LaunchedFlavour(); f != "" {
			return append(launch.Recall(string(f), ""), &launch.MPI{Flavour: f}), nil
		}
	}
	return nil, p.Err()
}

// installedLibrary is lib/libmpitrace-<mpi>.so beside the directory of this
// program, where `make install` puts it.
func installedLibrary(f launch.Flavour) (string, bool) {
	self, err := os.Executable()
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	lib := filepath.Join(filepath.Dir(filepath.Dir(self)), "lib", libraryName(f))
	_, err = os.Stat(lib)
	return lib, !errors.Is(err, fs.ErrNotExist)
}

func libraryName(f launch.Flavour) string { return "libmpitrace-" + string(f) + ".so" }

package launch

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// Installations lists the MPI libraries on this node, with or without a
// compiler wrapper. It looks in LD_LIBRARY_PATH, in the prefixes of the given
// launchers and of those in PATH, and in the loader's cache. It sets neither
// Version nor CC.
func Installations(launchers ...string) []*MPI {
	dirs := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	launchers = append(launchers, existing(filepath.SplitList(os.Getenv("PATH")), []string{"mpirun", "mpiexec", "mpiexec.hydra"})...)
	for _, launcher := range launchers {
		prefix := filepath.Dir(filepath.Dir(realPath(launcher)))
		dirs = append(dirs, filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64"))
	}
	return librariesAmong(append(candidates(dirs), loaderCache()...))
}

// candidates lists the files in some directories that may be an MPI library.
func candidates(dirs []string) (files []string) {
	for _, dir := range dirs {
		found, _ := filepath.Glob(filepath.Join(dir, "libmp*.so.*")) // the error is for a directory whose name is no valid pattern
		files = append(files, found...)
	}
	return files
}

// librariesAmong returns the MPI libraries among some files, each once.
func librariesAmong(files []string) (all []*MPI) {
	for _, file := range files {
		real := realPath(file)
		if !mayBeMPI(filepath.Base(file)) || slices.ContainsFunc(all, func(m *MPI) bool { return sameLibrary(m.Library, real) }) {
			continue
		}
		if f, ok := FlavourOf(file); ok {
			all = append(all, &MPI{Flavour: f, Library: real})
		}
	}
	return all
}

// sameLibrary reports whether two files are one library. Wheels have copies
// where a distribution has symbolic links: libmpi.so.12, libmpi.so.12.0.
func sameLibrary(a, b string) bool {
	if a == b {
		return true
	}
	if filepath.Dir(a) != filepath.Dir(b) || !strings.HasPrefix(b, a+".") {
		return false
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && infoA.Size() == infoB.Size()
}

// loaderCache lists the libraries in the loader's cache.
func loaderCache() []string {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/sbin/ldconfig", "-p").Output()
	if err != nil {
		return nil // musl has no ldconfig
	}
	var files []string
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if _, file, ok := strings.Cut(s.Text(), " => "); ok {
			files = append(files, file)
		}
	}
	return files
}

// InstalledFor returns the MPI library that a command probably uses, found
// without a compiler wrapper. It is the first in the prefix or of the flavour
// that --mpi names, else of the launcher's flavour, else the first that is
// installed. It returns nil if there is none. c may be nil.
func InstalledFor(c *Command, override string) *MPI {
	if info, err := os.Stat(override); err == nil && info.IsDir() {
		all := librariesAmong(candidates([]string{filepath.Join(override, "lib"), filepath.Join(override, "lib64"), override}))
		if len(all) == 0 {
			return nil
		}
		return all[0]
	}
	var own []string
	if c != nil && c.Launcher != nil {
		own = append(own, c.Launcher.Path)
	}
	all := Installations(own...)
	if len(all) == 0 {
		return nil
	}
	wanted := []rundir.Flavour{rundir.Flavour(strings.ToLower(override))}
	if override == "" || override == "auto" {
		wanted = nil
		var l *Launcher
		if c != nil {
			l = c.Launcher
		}
		if l == nil {
			l, _ = findLauncher("mpirun") // nil if there is no mpirun
		}
		if l != nil {
			wanted = l.flavours()
		}
		if len(wanted) == 0 {
			return all[0]
		}
	}
	for _, f := range wanted {
		if i := slices.IndexFunc(all, func(m *MPI) bool { return m.Flavour == f }); i >= 0 {
			return all[i]
		}
	}
	return nil
}

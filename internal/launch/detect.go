package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/interpose"
)

// Detect returns the MPI that a command uses. The first of these that is known
// decides:
//
//   - the MPI that cc links,
//   - the MPI that override names (a flavour, a library or a prefix; "auto" is none),
//   - the MPI that the first program of the command is linked to,
//   - the launcher's own MPI,
//   - the MPI of the first mpicc in PATH.
//
// If override is a prefix that holds several MPIs, the program's own is taken. It
// is an error if only the program could decide and it cannot be recorded.
//
// The note is a warning for the user about a program that may not be recorded
// or that does not fit its launcher; it is empty if there is none. c may be
// nil.
func Detect(c *Command, override, cc string) (mpi *MPI, note string, err error) {
	p, err := c.program()
	if err != nil {
		return nil, "", err
	}
	switch {
	case cc != "":
		mpi, err = Probe(cc)
	case p != nil && p.Kind == UsesMPI && holds(override, p.Library): // a prefix may hold several MPIs
		mpi, err = linkedTo(p)
	case override != "" && override != "auto":
		mpi, err = named(override)
	case p != nil && p.Kind == UsesMPI:
		mpi, err = linkedTo(p)
	case p != nil && p.unreachable():
		err = p.Err()
	default:
		mpi, err = guess(c)
	}
	if err != nil {
		return nil, "", err
	}
	if p != nil && p.Kind == UsesMPI && p.Flavour != mpi.Flavour {
		return nil, "", fmt.Errorf("%s is linked to %s (%s), and the library for %s, which --mpi or --cc names, cannot record it",
			p.Path, p.Flavour.Title(), p.Library, mpi)
	}
	if why := mismatch(c, p); why != "" {
		return mpi, why, nil
	}
	return mpi, programNote(p, cc != "" || override != "" && override != "auto", mpi), nil
}

// linkedTo returns the MPI that a program is linked to. It looks for no compiler
// wrapper if there is a prebuilt library, because that takes a compilation.
func linkedTo(p *Program) (*MPI, error) {
	if Known(p.Library) == nil && interpose.HasPrebuilt(interpose.BuildOptions{MPI: p.Library}) {
		return &MPI{Flavour: p.Flavour, Library: p.Library}, nil
	}
	return FindCompiler(p.Library, p.Flavour)
}

// holds reports whether a file is below a directory.
func holds(dir, file string) bool {
	abs, err := filepath.Abs(dir)
	if info, statErr := os.Stat(abs); dir == "" || err != nil || statErr != nil || !info.IsDir() {
		return false
	}
	return strings.HasPrefix(realPath(file), strings.TrimSuffix(realPath(abs), "/")+"/")
}

// mismatch returns a warning if the launcher belongs to another MPI than the
// program uses, else "". Such a launcher starts the processes, but each of them
// is alone in its MPI_COMM_WORLD.
func mismatch(c *Command, p *Program) string {
	if c == nil || c.Launcher == nil || p == nil || p.Kind != UsesMPI {
		return ""
	}
	of := c.Launcher.flavours()
	if len(of) == 0 || slices.Contains(of, p.Flavour) || p.Flavour == rundir.StandardABI || p.Flavour == rundir.Unknown {
		return ""
	}
	return fmt.Sprintf("%s is %s's launcher, and %s is linked to %s: each of its processes will be alone in its MPI_COMM_WORLD, as without mpitrace. Use that MPI's own launcher",
		c.Launcher.Path, of[0].Title(), p.Path, p.Flavour.Title())
}

// Files returns the paths of the command's programs that exist on this node.
func (c *Command) Files() []string {
	var files []string
	for _, i := range c.Programs {
		if path, err := i.lookup(i.Words[0]); err == nil {
			files = append(files, path)
		}
	}
	return files
}

// Missing returns why the first program of the command cannot be run. It
// returns nil if any of the programs is found on this node.
func (c *Command) Missing() error {
	var missing error
	for _, i := range c.Programs {
		_, err := i.lookup(i.Words[0])
		if err == nil {
			return nil
		}
		missing = cmp.Or(missing, err)
	}
	return missing
}

// programNote returns a note about a program that is not linked to an MPI, empty if
// there is nothing to note. If the user named the MPI, only that one is recorded.
func programNote(p *Program, explicit bool, mpi *MPI) string {
	which := "an MPI"
	if explicit {
		which = mpi.String()
	}
	switch {
	case p == nil:
		return ""
	case p.Kind == Unreadable:
		return fmt.Sprintf("mpitrace cannot read %s (execute permission only); if it uses %s, its calls are recorded", p.Path, which)
	case p.Kind == NoMPI:
		return fmt.Sprintf("%s is not linked to an MPI library; if it or a program that it starts uses %s, that is recorded", p.Path, which)
	case p.unreachable():
		return p.Err().Error()
	}
	return ""
}

// program returns the first program of the command that is linked to MPI, else
// the first program, else nil.
func (c *Command) program() (*Program, error) {
	if c == nil {
		return nil, nil
	}
	var first *Program
	for _, i := range c.Programs {
		path, err := i.lookup(i.Words[0])
		if err != nil {
			// The launcher may still find it, on another node.
			continue
		}
		p, err := Inspect(path)
		if err != nil {
			return nil, err
		}
		if p.Kind == UsesMPI {
			return p, nil
		}
		if first == nil {
			first = p
		}
	}
	return first, nil
}

// named returns the MPI that --mpi names.
func named(name string) (*MPI, error) {
	if flavour := rundir.Flavour(strings.ToLower(name)); slices.Contains(flavours, flavour) {
		return byFlavour(flavour, pathDirs())
	}
	info, err := os.Stat(name)
	switch {
	case err != nil && !strings.Contains(name, "/"):
		return nil, fmt.Errorf("--mpi %s: neither auto, a path, nor one of %s", name, flavourNames())
	case err != nil:
		return nil, fmt.Errorf("--mpi: %w", err)
	case info.IsDir():
		return inPrefix(name)
	}
	lib, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	flavour, ok := FlavourOf(lib)
	if !ok {
		return nil, fmt.Errorf("--mpi %s: not an MPI library (it has no PMPI_Init)", name)
	}
	return FindCompiler(realPath(lib), flavour)
}

func flavourNames() string {
	var names []string
	for _, f := range flavours {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// inPrefix returns the MPI that is installed in a directory.
func inPrefix(prefix string) (*MPI, error) {
	names := []string{"mpicc", "mpiicx", "mpiicc", "mpigcc"}
	for _, f := range flavours {
		names = append(names, "mpicc."+string(f))
	}
	abs, err := filepath.Abs(prefix)
	if err != nil {
		return nil, err
	}
	mpi, _, err := firstOf(existing([]string{filepath.Join(abs, "bin"), abs}, names), anyMPI)
	if mpi == nil && err == nil {
		err = &NoCompilerError{Wanted: prefix}
	}
	return mpi, err
}

func pathDirs() []string {
	return append(filepath.SplitList(os.Getenv("PATH")), usualDirs()...)
}

// byFlavour returns an MPI of a flavour, found by its wrapper in one of the
// directories.
func byFlavour(f rundir.Flavour, dirs []string) (*MPI, error) {
	mpi, others, _ := firstOf(existing(dirs, compilerNames(f)), func(m *MPI) bool { return m.Flavour == f })
	if mpi != nil {
		return mpi, nil
	}
	missing := &NoCompilerError{Wanted: f.Title(), Flavour: f}
	for _, m := range others {
		missing.Tried = append(missing.Tried, m.CC+" is that of "+m.String())
	}
	return nil, missing
}

// guess returns the MPI that the launcher belongs to, else the MPI of the first
// mpicc in PATH. srun and flux belong to no MPI.
func guess(c *Command) (*MPI, error) {
	if c != nil && c.Launcher != nil {
		l := c.Launcher
		for _, f := range l.flavours() {
			dirs := []string{filepath.Dir(l.Path), filepath.Dir(realPath(l.Path))}
			if mpi, err := byFlavour(f, append(dirs, pathDirs()...)); err == nil {
				return mpi, nil
			}
		}
	}
	mpi, _, err := firstOf(existing(pathDirs(), []string{"mpicc", "mpiicx", "mpiicc"}), anyMPI)
	if mpi == nil {
		err = errors.Join(ErrNoMPI, err)
	}
	return mpi, err
}

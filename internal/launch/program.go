// Package launch finds out how a command starts MPI processes and which MPI
// they use, inserts the recorder in front of each process, and runs the command.
// The recorder replaces itself by the user's program, in an environment that
// preloads the library.
package launch

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mpitrace/mpitrace/internal/rundir"
)

// ProgramKind describes whether a program can be recorded by a preloaded library, or
// why not.
type ProgramKind uint8

const (
	UsesMPI    ProgramKind = iota // linked to an MPI's shared library: can be recorded
	NoMPI                         // dynamic, not linked to MPI; it may load an MPI or start a program that uses one
	Script                        // not an ELF file; an interpreter runs it
	MissingMPI                    // linked to an MPI library that the loader does not find
	StaticMPI                     // dynamic, but the MPI library is linked statically
	Static                        // linked statically: nothing can be preloaded
	Privileged                    // runs with other privileges than its user's: the loader preloads nothing
	Unreadable                    // may be run, but not read (mode 711): it is not known what it is
)

// Program is an executable file and the MPI it uses.
type Program struct {
	Path    string
	Kind    ProgramKind
	Library string         // path of the MPI's shared library, symbolic links resolved
	Flavour rundir.Flavour // of Library
	Soname  string         // name under which the program needs Library; for MissingMPI, the name that is not found
}

// ProgramError reports why a program cannot be recorded, and what to do.
type ProgramError struct{ *Program }

func (e *ProgramError) Error() string {
	switch e.Kind {
	case Static:
		return e.Path + " is linked statically: no library can be preloaded into it. Link it dynamically (without -static). " +
			"If it only starts another program that uses MPI, name the MPI with --mpi"
	case StaticMPI:
		return e.Path + " has the MPI library linked into it (libmpi.a), so that its calls cannot be intercepted. " +
			"Link it with the MPI's shared library"
	case Privileged:
		return e.Path + " runs with other rights than its user's (set-user-ID, set-group-ID or capabilities): " +
			"the loader preloads no library into such programs. To record it, take these rights from a copy of it"
	case MissingMPI:
		return fmt.Sprintf("%s needs %s, which the loader does not find: load the MPI's module or set LD_LIBRARY_PATH, "+
			"so that the program itself starts", e.Path, e.Soname)
	case Unreadable:
		return e.Path + " may be run, but not read, so that its MPI is not known: name it with --mpi"
	case Script:
		return e.Path + " is a script: name its MPI with --mpi"
	}
	return e.Path + " is not linked to an MPI library. If it opens one later, or starts a program that uses MPI, name the MPI with --mpi"
}

// Err returns nil for a program that can be recorded, else a *ProgramError.
func (p *Program) Err() error {
	if p.Kind == UsesMPI {
		return nil
	}
	return &ProgramError{p}
}

// unreachable reports whether nothing that the program does can be recorded.
func (p *Program) unreachable() bool {
	return p.Kind == Static || p.Kind == StaticMPI || p.Kind == MissingMPI || p.Kind == Privileged
}

// mayUseAnyMPI reports whether it is not known which MPI such a program uses: it
// may open one, or start a program that uses one.
func (k ProgramKind) mayUseAnyMPI() bool { return k == Script || k == NoMPI || k == Unreadable }

// Inspect inspects an executable file without running it. The program's loader
// lists the libraries that it would load, in the environment of this process.
func Inspect(path string) (*Program, error) {
	p := &Program{Path: path, Kind: Script}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) && unix.Access(path, unix.X_OK) == nil {
		p.Kind = Unreadable
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != elf.ELFMAG {
		return p, nil
	}
	bin, err := elf.NewFile(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if changesRights(f) {
		p.Kind = Privileged
		return p, nil
	}
	loader := interpreter(bin)
	if loader == "" {
		p.Kind = Static
		return p, nil
	}
	libraries, err := listLibraries(loader, path)
	if err != nil {
		return nil, fmt.Errorf("list libraries of %s: %w", path, err)
	}
	p.classify(bin, libraries)
	return p, nil
}

// rankProgram returns the file that a rank runs for a command, found in a search
// path, which is empty for $PATH.
func rankProgram(argv []string, path string) (string, error) {
	return Invocation{Path: path, Here: LaunchedFlavour() == rundir.OpenMPI}.lookup(argv[0])
}

// CheckCommand returns an error if the program of a command cannot be run.
func CheckCommand(argv []string) error {
	_, err := rankProgram(argv, "")
	return err
}

// classify sets the kind of the program and its MPI from the libraries it loads.
func (p *Program) classify(bin *elf.File, libraries []library) {
	p.Kind = NoMPI
	for _, l := range libraries {
		if p.Kind == UsesMPI || !mayBeMPI(l.soname) {
			continue
		}
		if l.path == "" {
			p.Kind, p.Soname = MissingMPI, l.soname
			continue
		}
		if flavour, ok := FlavourOf(l.path); ok {
			p.Kind, p.Soname, p.Flavour, p.Library = UsesMPI, l.soname, flavour, realPath(l.path)
		}
	}
	if p.Kind == NoMPI && definesMPI(bin) {
		p.Kind = StaticMPI
	}
}

// interpreter returns the loader of a program (PT_INTERP), empty if it has
// none.
func interpreter(bin *elf.File) string {
	for _, p := range bin.Progs {
		if p.Type == elf.PT_INTERP {
			b, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
			if err == nil {
				return string(bytes.TrimRight(b, "\x00"))
			}
		}
	}
	return ""
}

// definesMPI reports whether the MPI library is linked into the program. It
// cannot see this in a stripped program; such a run ends with a message that
// nothing was recorded.
func definesMPI(bin *elf.File) bool {
	symbols, err := bin.Symbols()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
		return s.Section != elf.SHN_UNDEF && (s.Name == "PMPI_Init" || s.Name == "MPI_Init")
	})
}

// library is an entry of the loader's list; path is empty if it was not found.
type library struct{ soname, path string }

// listTimeout limits the time for a loader that waits for a dead file system.
const listTimeout = 30 * time.Second

// listLibraries returns the libraries that the loader would load for the
// program at path.
func listLibraries(loader, path string) ([]library, error) {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	abs, err := filepath.Abs(path) // the loader would search a bare name in the library path
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, loader, "--list", abs)
	// These make the loader load other libraries than the program's own, or print more
	// than the list.
	cmd.Env = unsetenv(os.Environ(), "LD_PRELOAD", "LD_AUDIT", "LD_DEBUG")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	libraries := parseList(out)
	// If a library is missing, glibc's loader fails, but lists the others
	// first.
	if err != nil && len(libraries) == 0 {
		libraries = parseMissing(stderr.Bytes())
	}
	if err != nil && len(libraries) == 0 {
		return nil, fmt.Errorf("%s --list: %w: %s", loader, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return libraries, nil
}

// parseList parses lines such as
//
//	libmpi.so.40 => /usr/lib/libmpi.so.40 (0x00007f...)
//	libfoo.so.1 => not found
func parseList(out []byte) []library {
	var libraries []library
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		soname, rest, found := strings.Cut(strings.TrimSpace(s.Text()), " => ")
		if !found {
			continue
		}
		l := library{soname: filepath.Base(soname)}
		if path, _, ok := strings.Cut(rest, " (0x"); ok {
			l.path = path
		}
		libraries = append(libraries, l)
	}
	return libraries
}

// parseMissing parses the loader's error for the first library that it did not
// find: "prog: error while loading shared libraries: libx.so.1: ...".
func parseMissing(stderr []byte) []library {
	_, rest, found := strings.Cut(string(stderr), "shared libraries: ")
	soname, _, ok := strings.Cut(rest, ":")
	if !found || !ok {
		return nil
	}
	return []library{{soname: soname}}
}

// realPath resolves symbolic links. It returns path unchanged if that fails.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return real
}

// lookProgram returns the file that execvp would run for name, in directory dir
// (empty for the current one) and with the given search path.
func lookProgram(name, dir, path string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) && dir != "" {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, d := range filepath.SplitList(path) {
		if d == "" {
			d = "."
		}
		if file := filepath.Join(d, name); executable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable: %w", path, fs.ErrPermission)
	}
	return nil
}

// changesRights reports whether a program runs with other privileges than its
// user's, by set-user-ID, set-group-ID or file capabilities. The loader then
// ignores LD_PRELOAD, for security.
func changesRights(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || mountedWithoutRights(f) {
		return false
	}
	var capabilities [64]byte
	n, err := unix.Fgetxattr(int(f.Fd()), "security.capability", capabilities[:])
	return info.Mode()&os.ModeSetuid != 0 && int(st.Uid) != os.Getuid() ||
		info.Mode()&os.ModeSetgid != 0 && int(st.Gid) != os.Getgid() ||
		err == nil && n > 0 && os.Getuid() != 0
}

// mountedWithoutRights reports whether the system ignores such privileges for
// the file: by the file system's mount option nosuid or the process's
// no_new_privs.
func mountedWithoutRights(f *os.File) bool {
	var fs unix.Statfs_t
	none, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return err == nil && none == 1 || unix.Fstatfs(int(f.Fd()), &fs) == nil && fs.Flags&unix.ST_NOSUID != 0
}

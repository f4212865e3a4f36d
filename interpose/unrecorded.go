package interpose

import (
	"debug/elf"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// Unrecorded returns the MPI functions, sorted, that the given files import and
// the library does not intercept. The files are a program and the libraries
// that it loaded. Functions that are not wrapped on purpose (localCalls) are
// omitted. If an MPI is among the files, functions that no file exports are
// omitted too: they cannot be called, and are weak imports such as those of
// mpi4py, which supports many MPIs. The imports of the MPI itself, and files
// that cannot be read, are ignored.
func Unrecorded(library string, files []string) ([]string, error) {
	wrapped, err := wrappedBy(library)
	if err != nil {
		return nil, err
	}
	exported := exportedBy(files)
	names := map[string]bool{}
	for _, file := range files {
		for _, name := range importsOf(file) {
			if !wrapped[name] && !leftAlone(name) && (exported == nil || exported[name]) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// wrappedBy returns the symbols of the library. The dispatcher has no entries for
// newer functions. Calls of these are bound to the library that it opens (src/bind),
// except those of mpi_f08, whose functions have no second name by which that library
// could call them.
func wrappedBy(library string) (map[string]bool, error) {
	wrapped, err := exports(library)
	if err != nil || !IsDispatcher(library) {
		return wrapped, err
	}
	for _, file := range dispatched(filepath.Dir(library)) {
		symbols, err := exports(file)
		if err != nil {
			return nil, err
		}
		for name := range symbols {
			wrapped[name] = wrapped[name] || symbols[name] && !strings.Contains(name, "_f08")
		}
	}
	return wrapped, nil
}

// exportedBy returns the MPI functions that the files export. It returns nil if
// none of the files is an MPI, since then it is not known what the process can
// call.
func exportedBy(files []string) map[string]bool {
	all := map[string]bool{}
	for _, file := range files {
		symbols, err := exports(file)
		if err != nil {
			continue
		}
		for name, defined := range symbols {
			if defined && function.MatchString(name) || name == "PMPI_Init" {
				all[name] = all[name] || defined
			}
		}
	}
	if !all["PMPI_Init"] {
		return nil
	}
	return all
}

// exports returns the dynamic symbols of a file, and whether it defines each.
func exports(library string) (map[string]bool, error) {
	symbols, err := Symbols(library)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, s := range symbols {
		out[s.Name] = out[s.Name] || s.Section != elf.SHN_UNDEF
	}
	return out, nil
}

// Symbols returns the dynamic symbols of a file. The path may come from a
// recording and name any kind of file.
func Symbols(path string) ([]elf.Symbol, error) {
	in, err := atomicfile.OpenModule(path, atomicfile.AnySize)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := elf.NewFile(in)
	if err != nil {
		return nil, err
	}
	return f.DynamicSymbols()
}

// function matches MPI functions in C and in Fortran (mpi_send_, mpi_send_f08_,
// mpi_send_f08ts_), including MPIX functions.
var function = regexp.MustCompile(`^(MPIX?_[A-Z]\w*|mpix?_[a-z0-9_]+)$`)

func importsOf(file string) []string {
	if ofAnMPI(filepath.Base(file)) {
		return nil
	}
	symbols, err := Symbols(file)
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && (s.Name == "PMPI_Init" || s.Name == "MPI_Init") {
			return nil // an MPI, or a tool that intercepts MPI calls
		}
		if s.Section == elf.SHN_UNDEF && elf.ST_TYPE(s.Info) != elf.STT_OBJECT && function.MatchString(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// ofAnMPI reports whether a file name is that of a part of an MPI, or of
// mpitrace's library.
func ofAnMPI(name string) bool {
	return hasPrefix(name, "libmpi", "libpmpi", "libopen-", "libmca_", "mca_", "libmpitrace")
}

// decoration is what Fortran bindings append to a function's name: the form of
// the binding, and the compiler's underscores.
var decoration = regexp.MustCompile(`(_f08ts|_f08|_cptr)?(_large)?_*$`)

// leftAlone reports whether a function is not wrapped on purpose. A Fortran
// name counts as the function that it stands for: mpi_comm_rank_ is
// MPI_Comm_rank.
func leftAlone(symbol string) bool {
	if _, ok := localCalls[tableName(symbol)]; ok {
		return true
	}
	fortran, ok := strings.CutPrefix(symbol, "mpi_")
	if !ok {
		return false
	}
	name := decoration.ReplaceAllString(fortran, "")
	if strings.HasPrefix(name, "sizeof_") {
		return true
	}
	for local := range localCalls {
		if strings.EqualFold(local, name) {
			return true
		}
	}
	return false
}

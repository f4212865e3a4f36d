package interpose

import (
	"debug/elf"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose/calls"
)

// Unrecorded returns the MPI functions, sorted, that the given files (a program and
// the libraries that a process of it loaded) import and the library does not
// intercept, except those left alone on purpose (calls.Local). Where an MPI is
// among the files, functions that none of the files exports are left out: they are
// weak imports, as mpi4py has for many MPIs, and cannot be called. Files that
// cannot be read here are passed over, and the MPI's own imports do not count.
func Unrecorded(library string, files []string) ([]string, error) {
	wrapped, err := exports(library)
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

// exportedBy returns the MPI functions that the files export, nil if none of the
// files is an MPI: then it is not known what the process can call.
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

func exports(library string) (map[string]bool, error) {
	symbols, err := symbolsOf(library)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, s := range symbols {
		out[s.Name] = out[s.Name] || s.Section != elf.SHN_UNDEF
	}
	return out, nil
}

// symbolsOf reads the dynamic symbols of a file. A recording may name any file.
func symbolsOf(path string) ([]elf.Symbol, error) {
	in, err := atomicfile.Open(path, atomicfile.AnySize)
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

// function matches MPI functions in C, and in Fortran: mpi_send_,
// mpi_send_f08_, mpi_send_f08ts_; and what MPIs have beyond the Standard.
var function = regexp.MustCompile(`^(MPIX?_[A-Z]\w*|mpix?_[a-z0-9_]+)$`)

func importsOf(file string) []string {
	if ofAnMPI(filepath.Base(file)) {
		return nil
	}
	symbols, err := symbolsOf(file)
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && (s.Name == "PMPI_Init" || s.Name == "MPI_Init") {
			return nil // an MPI, or a tool as we are one
		}
		if s.Section == elf.SHN_UNDEF && elf.ST_TYPE(s.Info) != elf.STT_OBJECT && function.MatchString(s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// ofAnMPI knows the files that MPIs are made of.
func ofAnMPI(name string) bool {
	for _, prefix := range []string{"libmpi", "libpmpi", "libopen-", "libmca_", "mca_", "libmpitrace"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// decoration is what Fortran bindings append to a function's name: the
// compiler's underscores, and before these which form of it this is.
var decoration = regexp.MustCompile(`(_f08ts|_f08|_cptr)?(_large)?_*$`)

// leftAlone tells whether a function is not wrapped on purpose. Of Fortran's
// names only the function counts: mpi_comm_rank_ is MPI_Comm_rank.
func leftAlone(symbol string) bool {
	if _, ok := calls.Local[tableName(symbol)]; ok {
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
	for local := range calls.Local {
		if strings.EqualFold(local, name) {
			return true
		}
	}
	return false
}

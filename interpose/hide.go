package interpose

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
)

// anyCFunction matches the names of MPI's functions in C.
var anyCFunction = regexp.MustCompile(`^P?MPIX?_[A-Z]\w*[a-z]\w*$`)

// hideMissing hides the functions that an MPI lacks: the loader does not find a
// symbol whose value is 0. A library that serves all versions of an MPI defines
// functions that this version may not have. A program may test for a function
// by a weak symbol (mpi4py does), and must not find ours. It changes the image
// of a library in memory, and returns how many symbols it hid.
func hideMissing(image []byte, mpi map[string]bool) (hidden int, err error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	table := f.Section(".dynsym")
	if table == nil || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return 0, errors.New("the library has no 64-bit table of symbols")
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for i, s := range symbols {
		if s.Section == elf.SHN_UNDEF || !anyCFunction.MatchString(s.Name) || mpi[s.Name] {
			continue
		}
		at := table.Offset + uint64(i+1)*elf.Sym64Size // DynamicSymbols leaves out the first symbol
		const value = 8                                // offset of the value in a symbol
		if at+elf.Sym64Size > uint64(len(image)) {
			return 0, fmt.Errorf("symbol %s is outside of the library", s.Name)
		}
		binary.LittleEndian.PutUint64(image[at+value:], 0)
		hidden++
	}
	return hidden, nil
}

// functionsOf returns the functions that an MPI's shared library defines.
func functionsOf(path string) (map[string]bool, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && anyCFunction.MatchString(s.Name) {
			found[s.Name] = true
		}
	}
	return found, nil
}

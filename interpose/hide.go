package interpose

import (
	"debug/elf"
	"encoding/binary"
	"regexp"
)

// anyCFunction matches the names of MPI's functions in C.
var anyCFunction = regexp.MustCompile(`^P?MPIX?_[A-Z]\w*[a-z]\w*$`)

// hideMissing hides the functions that an MPI lacks, whose symbols are given: the loader does not find a
// symbol whose value is 0. A library that serves all versions of an MPI defines
// functions that this version may not have. A program may test for a function
// by a weak symbol (mpi4py does), and must not find ours. It changes the image
// of a library in memory, and returns how many symbols it hid.
func hideMissing(content []byte, mpi map[string]bool) (hidden int, err error) {
	m, err := readImage(content)
	if err != nil {
		return 0, err
	}
	for i, s := range m.symbols {
		if s.Section == elf.SHN_UNDEF || !anyCFunction.MatchString(s.Name) || mpi[s.Name] {
			continue
		}
		binary.LittleEndian.PutUint64(m.symbol(i)[symbolValue:], 0)
		hidden++
	}
	return hidden, nil
}

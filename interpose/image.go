package interpose

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
)

// An image is the content of a shared library in memory, to be changed in place.
type image struct {
	*elf.File
	bytes   []byte
	symbols []elf.Symbol // of the dynamic linker, without the first one, which is empty
	table   uint64       // offset of the first symbol, the empty one
}

// readImage reads the headers and the symbols of a library. It returns an error
// if the library is not of a 64-bit little-endian machine, or if its symbols are
// outside of it.
func readImage(content []byte) (*image, error) {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return nil, errors.New("the library is not of a 64-bit little-endian machine")
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	section := f.SectionByType(elf.SHT_DYNSYM)
	if section == nil {
		return nil, errors.New("the library has no symbols")
	}
	m := &image{f, content, symbols, section.Offset}
	size, all := uint64(len(symbols)+1)*elf.Sym64Size, uint64(len(content))
	if m.table > all || size > all-m.table {
		return nil, fmt.Errorf("the symbols at %d, %d bytes, are not inside of the library", m.table, size)
	}
	return m, nil
}

// Offsets of members of an Elf64_Sym.
const symbolSection, symbolValue = 6, 8

// symbol returns the Elf64_Sym of symbols[i].
func (m *image) symbol(i int) []byte {
	return m.bytes[m.table+uint64(i+1)*elf.Sym64Size:][:elf.Sym64Size]
}

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

package symbolize

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"io"
	"slices"
)

// maxSymbolTable is the size of the largest symbol table that is read, in bytes.
// That of the largest programs has some 100 MB.
const maxSymbolTable = 256 << 20

// symbolFunction is a function of a symbol table.
type symbolFunction struct {
	start, size uint64
	inside      bool         // whether the function contains the call
	rank        int          // of several names of an address, the name with the lowest rank is used
	text        *elf.Section // holds the name, at the offset name
	name        uint64
}

// functions returns the functions that contain the calls with these return
// addresses, which are sorted. If none is known, it returns the last function
// before the call, which is then not inside. It reads the symbol tables in pieces.
func (f *elfFile) functions(addresses []uint64) map[uint64]symbolFunction {
	// last[i] is the last function that starts between the addresses before
	// and at i.
	last := make([]symbolFunction, len(addresses))
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		s := f.SectionByType(kind)
		if s == nil || s.Size > maxSymbolTable || s.Link == 0 || int64(s.Link) >= int64(len(f.Sections)) {
			continue // a stripped file has no symbols
		}
		text := f.Sections[s.Link]
		_ = f.eachFunction(s, func(found symbolFunction) { // what can be read of a damaged table is used
			i, _ := slices.BinarySearch(addresses, found.start+1)
			if found.text = text; i < len(last) && found.start+1 > 0 && found.before(&last[i]) {
				last[i] = found
			}
		})
	}
	out := map[uint64]symbolFunction{}
	var latest symbolFunction
	for i, address := range addresses {
		if last[i].text != nil {
			latest = last[i]
		}
		if latest.text != nil {
			latest.inside = latest.size == 0 || address-1-latest.start < latest.size
			out[address] = latest
		}
	}
	return out
}

// before reports whether a function takes the place of another one.
func (s *symbolFunction) before(other *symbolFunction) bool {
	return other.text == nil || cmp.Or(cmp.Compare(other.start, s.start), cmp.Compare(s.rank, other.rank)) < 0
}

// eachFunction calls use with the functions of a symbol table.
func (f *elfFile) eachFunction(table *elf.Section, use func(symbolFunction)) error {
	entry := elf.Sym64Size
	if f.Class == elf.ELFCLASS32 {
		entry = elf.Sym32Size
	}
	in, piece := table.Open(), make([]byte, 4096*entry)
	for {
		n, err := io.ReadFull(in, piece)
		for at := 0; at+entry <= n; at += entry {
			if found, ok := f.functionOf(piece[at : at+entry]); ok {
				use(found)
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// functionOf parses a symbol. ok is false if it is not a function of this file.
func (f *elfFile) functionOf(symbol []byte) (found symbolFunction, ok bool) {
	order := f.ByteOrder
	var info byte
	var section uint16
	found.name = uint64(order.Uint32(symbol))
	if f.Class == elf.ELFCLASS32 {
		found.start, found.size = uint64(order.Uint32(symbol[4:])), uint64(order.Uint32(symbol[8:]))
		info, section = symbol[12], order.Uint16(symbol[14:])
	} else {
		info, section = symbol[4], order.Uint16(symbol[6:])
		found.start, found.size = order.Uint64(symbol[8:]), order.Uint64(symbol[16:])
	}
	switch elf.ST_BIND(info) {
	case elf.STB_GLOBAL:
	case elf.STB_WEAK:
		found.rank = 1
	default:
		found.rank = 2
	}
	kind := elf.ST_TYPE(info)
	return found, elf.SectionIndex(section) != elf.SHN_UNDEF && (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC)
}

// symbolName returns the name of a function, "" if it cannot be read. buffer is
// as long as the longest name that is returned.
func (s *symbolFunction) symbolName(buffer []byte) string {
	if s.text.ReaderAt == nil || s.text.Flags&elf.SHF_COMPRESSED != 0 {
		return ""
	}
	n, _ := s.text.ReadAt(buffer, int64(s.name)) // less at the end of the section
	name := buffer[:n]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return string(name)
}

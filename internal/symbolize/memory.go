package symbolize

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// A recording may name any file as its program. Whatever the file claims, symbolize uses at most
// maxMemory bytes for it: for the uncompressed debug sections, and for twice the tables that
// debug/dwarf makes of them, which are in the collected heap. Call sites in a file that would need
// more have names without lines.
const (
	maxMemory   = 512 << 20
	maxSections = 384 << 20
	maxTables   = (maxMemory - maxSections) / 2

	maxHead     = 256 << 10 // bytes that are read for the headers and names of sections
	maxUnpacked = 64        // compression ratio; compilers' debug information compresses to a third or a fifth
	maxText     = 1 << 20   // bytes of a text in a debug section
)

// errLarge means that the debug information is not read.
var errLarge = fmt.Errorf("its debug information needs more than %d MiB of memory: its call sites have no lines", maxMemory>>20)

var errDamaged = errors.New("damaged debug information")

// headReader limits what elf.NewFile reads. A file may claim any number of
// sections, and each may have a name as long as all names together.
type headReader struct {
	in   io.ReaderAt
	left int64 // negative for no limit
}

func (h *headReader) ReadAt(p []byte, off int64) (int, error) {
	if h.left >= 0 {
		if h.left -= int64(len(p)); h.left < 0 {
			h.left = 0
			return 0, errors.New("more section headers than any program has")
		}
	}
	return h.in.ReadAt(p, off)
}

// section returns a section, uncompressed, or nil if the file has none of this
// name. It is valid until release.
func (f *elfFile) section(name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	size := s.Size
	in := s.Open()
	size = max(size, s.Size) // older compilers' compression: Open determines the size
	if packed := s.FileSize; size > packed && size/maxUnpacked > packed {
		return nil, fmt.Errorf("section %s claims to decompress from %d to %d bytes", name, packed, size)
	}
	if size > maxSections-f.used {
		return nil, errLarge
	}
	data, err := f.allocate(size)
	if err != nil {
		return nil, err
	}
	n, err := io.ReadFull(in, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	return data[:n], nil
}

// allocate returns memory that is not part of the collected heap, because the collected heap may
// grow to twice the size of its contents.
func (f *elfFile) allocate(size uint64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	data, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes: %w", size, err)
	}
	f.used += size
	f.sections = append(f.sections, data)
	return data, nil
}

// release frees the sections.
func (f *elfFile) release() {
	for _, data := range f.sections {
		_ = unix.Munmap(data) // it was mapped by allocate
	}
	f.sections, f.used = nil, 0
}

// checkTexts returns an error if a section may contain a text that is longer
// than any name or path is.
func checkTexts(sections ...[]byte) error {
	for _, rest := range sections {
		for len(rest) > maxText {
			end := bytes.LastIndexByte(rest[:maxText], 0)
			if end < 0 {
				return errDamaged
			}
			rest = rest[end+1:]
		}
	}
	return nil
}

// Estimates of the memory that debug/dwarf takes, in bytes.
const (
	unitCost  = 192
	entryCost = 128 // of an abbreviation
	fieldCost = 40  // of an attribute of an abbreviation
	fileCost  = 96  // of a file of a line table, besides its name
)

// unitHeads walks over the headers of the units in .debug_info and returns the
// offset of the last unit. It returns errLarge if the tables of all units need
// too much memory.
func unitHeads(order binary.ByteOrder, info, abbrev []byte) (last uint64, err error) {
	const wide = 0xffffffff // marks a length of 64 bits
	tables, cost := map[uint64]bool{}, uint64(0)
	for at, size := uint64(0), uint64(len(info)); at < size && size-at >= 12; {
		last = at
		length, head, word := uint64(order.Uint32(info[at:])), uint64(4), uint64(4)
		if length == wide {
			length, head, word = order.Uint64(info[at+4:]), 12, 8
		}
		if length > size-at-head {
			length = size - at - head // debug/dwarf reports the damage
		}
		if body := info[at+head : at+head+length]; length > 0 {
			cost += unitCost
			if table, ok := abbrevOffset(order, body, word); ok && !tables[table] && table < uint64(len(abbrev)) {
				tables[table] = true
				cost += abbrevCost(abbrev[table:])
			}
		}
		if cost > maxTables {
			return 0, errLarge
		}
		at += head + length
	}
	return last, nil
}

// abbrevOffset returns the offset of a unit's abbreviations. word is the size of
// an offset.
func abbrevOffset(order binary.ByteOrder, unit []byte, word uint64) (uint64, bool) {
	if len(unit) < 2 {
		return 0, false
	}
	at := uint64(2)
	if order.Uint16(unit) >= 5 {
		at = 4 // type and size of addresses
	}
	switch {
	case uint64(len(unit)) < at+word:
		return 0, false
	case word == 8:
		return order.Uint64(unit[at:]), true
	}
	return uint64(order.Uint32(unit[at:])), true
}

// abbrevCost returns an estimate of the memory of a table of abbreviations.
func abbrevCost(table []byte) (cost uint64) {
	const implicitConst = 0x21
	in := leb{rest: table}
	for cost <= maxTables && in.next() != 0 {
		cost += entryCost
		in.next() // tag
		in.skip(1)
		for !in.ended() {
			name, form := in.next(), in.next()
			if name == 0 && form == 0 {
				break
			}
			if form == implicitConst {
				in.next()
			}
			if cost += fieldCost; cost > maxTables {
				break
			}
		}
	}
	return cost
}

// leb reads numbers of variable length. At the end, it reads zeros.
type leb struct{ rest []byte }

func (l *leb) ended() bool { return len(l.rest) == 0 }

func (l *leb) next() uint64 {
	n := 0
	for n < len(l.rest) && l.rest[n] >= 0x80 {
		n++
	}
	value, _ := binary.Uvarint(l.rest[:min(n+1, len(l.rest))]) // 0 if it is too long
	l.skip(n + 1)
	return value
}

func (l *leb) skip(n int) { l.rest = l.rest[min(n, len(l.rest)):] }

// text skips a text and returns its length.
func (l *leb) text() int {
	n := max(bytes.IndexByte(l.rest, 0), 0)
	l.skip(n + 1)
	return n
}

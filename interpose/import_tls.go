package interpose

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// ImportThreadLocal makes a library import its thread-local data, in place, so
// that it can be opened with dlopen. Such data, at fixed offsets (initial-exec),
// need room that the dynamic linker reserves when a process starts, and other
// libraries may have used it up. The dispatcher, which is there from the start,
// defines the same data. See src/base/dispatcher.h.
func ImportThreadLocal(content []byte) error {
	m, err := readImage(content)
	if err != nil {
		return err
	}
	if err := m.importByName(); err != nil {
		return err
	}
	for i, s := range m.symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_TLS || s.Section == elf.SHN_UNDEF {
			continue
		}
		binary.LittleEndian.PutUint16(m.symbol(i)[symbolSection:], uint16(elf.SHN_UNDEF))
		binary.LittleEndian.PutUint64(m.symbol(i)[symbolValue:], 0)
	}
	return m.dropSegment(elf.PT_TLS)
}

// importByName makes relocations of thread-local data name their symbols. A
// linker may have resolved them to offsets, since the library defines these
// symbols itself.
func (m *image) importByName() error {
	section := m.Section(".rela.dyn")
	if section == nil {
		return errors.New("the library has no relocations")
	}
	const size = 24 // of an Elf64_Rela: offset, info, addend
	for at := section.Offset; at < section.Offset+section.Size; at += size {
		entry := m.bytes[at : at+size]
		info, addend := binary.LittleEndian.Uint64(entry[8:]), binary.LittleEndian.Uint64(entry[16:])
		if kind := uint32(info); !isThreadOffset(m.Machine, kind) || info>>32 != 0 {
			continue
		}
		i := definingSymbol(m.symbols, addend)
		if i < 0 {
			return fmt.Errorf("the library does not export its thread-local data at offset %d", addend)
		}
		binary.LittleEndian.PutUint64(entry[8:], uint64(i+1)<<32|info)
		binary.LittleEndian.PutUint64(entry[16:], addend-m.symbols[i].Value)
	}
	return nil
}

func isThreadOffset(machine elf.Machine, kind uint32) bool {
	return machine == elf.EM_X86_64 && elf.R_X86_64(kind) == elf.R_X86_64_TPOFF64 ||
		machine == elf.EM_AARCH64 && elf.R_AARCH64(kind) == elf.R_AARCH64_TLS_TPREL64
}

// definingSymbol returns the index of the thread-local variable that an offset lies
// in, or -1.
func definingSymbol(symbols []elf.Symbol, offset uint64) int {
	for i, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_TLS && s.Section != elf.SHN_UNDEF && offset-s.Value < s.Size {
			return i
		}
	}
	return -1
}

// dropSegment makes the dynamic linker ignore a segment.
func (m *image) dropSegment(kind elf.ProgType) error {
	var header elf.Header64
	if err := binary.Read(bytes.NewReader(m.bytes), binary.LittleEndian, &header); err != nil {
		return err
	}
	for i := range uint64(header.Phnum) {
		entry := m.bytes[header.Phoff+i*uint64(header.Phentsize):]
		if elf.ProgType(binary.LittleEndian.Uint32(entry)) == kind {
			binary.LittleEndian.PutUint32(entry, uint32(elf.PT_NULL))
		}
	}
	return nil
}

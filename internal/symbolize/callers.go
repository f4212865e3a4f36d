package symbolize

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
)

// maxCode is the size of the largest code section in which callers are counted, in bytes.
const maxCode = 256 << 20

// Callers returns from how many places in a file the function is called that contains a return
// address. It counts direct calls: those by a pointer, or from other files, are not known. It returns 0
// if the file is not the one with this build-id, or if its function is not known.
func Callers(path, buildID string, address uint64) int {
	f, err := openFile(path)
	if err != nil {
		return 0
	}
	defer f.close()
	function, known := f.functions([]uint64{address})[address]
	if f.buildID != buildID || !known || !function.inside {
		return 0
	}
	n := 0
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0 && s.Flags&elf.SHF_COMPRESSED == 0 && s.FileSize <= maxCode {
			n += f.callsIn(s, function.start)
		}
	}
	return n
}

// callsIn counts the instructions in a section that call a function. On x86-64, each byte may begin an
// instruction, and 4 bytes are hardly ever the distance to a function by chance.
func (f *elfFile) callsIn(s *elf.Section, function uint64) (n int) {
	const piece = 1 << 20
	code := make([]byte, min(s.FileSize, piece+8))
	for at := uint64(0); at < s.FileSize; at += piece {
		size, err := s.ReadAt(code, int64(at))
		if err != nil && !errors.Is(err, io.EOF) {
			return n
		}
		switch f.Machine {
		case elf.EM_X86_64:
			n += callsX86(code[:size], s.Addr+at, function, piece)
		case elf.EM_AARCH64:
			n += callsARM(code[:size], s.Addr+at, function, piece)
		}
	}
	return n
}

// callsX86 counts the calls (e8 and the distance from the next instruction) that begin in the first
// `most` bytes of code, which is at an address.
func callsX86(code []byte, address, function uint64, most int) (n int) {
	const call = 0xe8
	for i := 0; ; i++ {
		next := bytes.IndexByte(code[i:], call)
		if i += max(next, 0); next < 0 || i >= most || i+5 > len(code) {
			return n
		}
		distance := int32(binary.LittleEndian.Uint32(code[i+1:]))
		if address+uint64(i)+5+uint64(int64(distance)) == function {
			n++
		}
	}
}

// callsARM counts the calls (bl and the distance in words) in the first `most` bytes of code.
func callsARM(code []byte, address, function uint64, most int) (n int) {
	for i := 0; i+4 <= min(len(code), most); i += 4 {
		word := binary.LittleEndian.Uint32(code[i:])
		distance := int64(int32(word<<6)) >> 6 * 4
		if word>>26 == 0b100101 && address+uint64(i)+uint64(distance) == function {
			n++
		}
	}
	return n
}

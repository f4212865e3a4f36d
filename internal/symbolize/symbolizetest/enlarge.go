// Package symbolizetest makes programs that do harm to readers of debug
// information.
package symbolizetest

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// Enlarge makes sections of a 64-bit program end at its end, and adds a hole of
// size bytes there. The file takes no more room on the disk, and its build-id
// and its modification time stay. The sections begin as before, so their first
// part can be read.
func Enlarge(path string, size int64, sections ...string) error {
	before, err := os.Stat(path)
	if err != nil {
		return err
	}
	in, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := atomicfile.OpenToChange(path)
	if err != nil {
		return err
	}
	defer file.Close()
	const tableAt, entry, sizeAt = 40, 64, 32 // of the file's header, of a section's header
	var word [8]byte
	if _, err := file.ReadAt(word[:], tableAt); err != nil {
		return err
	}
	table, end, changed := int64(in.ByteOrder.Uint64(word[:])), before.Size()+size, 0
	for i, s := range in.Sections {
		if !slices.Contains(sections, s.Name) {
			continue
		}
		changed++
		length := uint64(end) - s.Offset
		if s.Entsize > 0 {
			length -= length % s.Entsize
		}
		binary.LittleEndian.PutUint64(word[:], length)
		if _, err := file.WriteAt(word[:], table+int64(i)*entry+sizeAt); err != nil {
			return err
		}
	}
	if changed != len(sections) {
		return fmt.Errorf("%s has %d of the sections %q", path, changed, sections)
	}
	if err := file.Truncate(end); err != nil {
		return err
	}
	return os.Chtimes(path, before.ModTime(), before.ModTime())
}

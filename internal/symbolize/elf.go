package symbolize

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"time"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

const maxNote = 1 << 16

// elfFile is an open ELF file.
type elfFile struct {
	*elf.File
	path     string
	buildID  string
	modified time.Time
	closer   io.Closer
	sections [][]byte // see section
	used     uint64   // bytes of them
}

// maxModule is the size of the largest program, library or debug file that is
// read. Those of the largest applications have a few GiB.
const maxModule = 64 << 30

func openFile(path string) (f *elfFile, err error) {
	in, err := atomicfile.OpenModule(path, maxModule) // the path is from a recording, and may name any file
	if err != nil {
		return nil, err
	}
	defer func() {
		if trouble := recover(); trouble != nil {
			f, err = nil, fmt.Errorf("%v", trouble)
		}
		if err != nil {
			in.Close()
		}
	}()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	head := &headReader{in, maxHead}
	parsed, err := elf.NewFile(head)
	if err != nil {
		return nil, err
	}
	head.left = -1
	f = &elfFile{File: parsed, path: path, modified: info.ModTime(), closer: in}
	f.buildID = f.findBuildID()
	return f, nil
}

func (f *elfFile) close() { f.closer.Close() }

// findBuildID returns the build-id that the linker stored, in hex.
func (f *elfFile) findBuildID() string {
	for _, p := range f.Progs {
		if p.Type == elf.PT_NOTE && p.Filesz <= maxNote {
			if id := f.buildIDIn(p.ReaderAt, p.Filesz); id != "" {
				return id
			}
		}
	}
	// Search the sections: in a debug file the segments are empty.
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOTE && s.FileSize <= maxNote && s.Flags&elf.SHF_COMPRESSED == 0 {
			if id := f.buildIDIn(s.ReaderAt, s.FileSize); id != "" {
				return id
			}
		}
	}
	return ""
}

func (f *elfFile) buildIDIn(r io.ReaderAt, size uint64) string {
	const gnuBuildID = 3
	notes := make([]byte, size)
	n, _ := r.ReadAt(notes, 0)
	notes = notes[:n]
	for len(notes) >= 12 {
		name, desc := uint64(f.ByteOrder.Uint32(notes)), uint64(f.ByteOrder.Uint32(notes[4:]))
		kind := f.ByteOrder.Uint32(notes[8:])
		at := 12 + (name+3)&^3
		end := at + (desc+3)&^3
		if at+desc > uint64(len(notes)) {
			return ""
		}
		if kind == gnuBuildID && string(notes[12:12+name]) == "GNU\x00" {
			return hex.EncodeToString(notes[at : at+desc])
		}
		notes = notes[min(end, uint64(len(notes))):]
	}
	return ""
}

// debugPaths returns where the debug file of a module may be: below the debugDirs by
// build-id, and, under the name that the file gives, next to the file, and in and
// below the debugDirs. In these it may also have the module's own name.
func (m *moduleAddresses) debugPaths(own *elfFile, debugDirs []string) []string {
	var out []string
	for _, dir := range debugDirs {
		if id := m.buildID; len(id) > 2 {
			out = append(out, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
		}
	}
	names := []string{filepath.Base(m.path) + ".debug", filepath.Base(m.path)}
	beside := filepath.Dir(m.path)
	if own != nil {
		if real, err := filepath.EvalSymlinks(own.path); err == nil {
			beside = filepath.Dir(real)
		}
		if name, _, ok := own.debugLink(); ok {
			names = append([]string{name}, names...)
			out = append(out, filepath.Join(beside, name), filepath.Join(beside, ".debug", name))
		}
	}
	for _, dir := range debugDirs {
		for _, name := range names {
			out = append(out, filepath.Join(dir, beside, name), filepath.Join(dir, name))
		}
	}
	return out
}

// debugLink reads .gnu_debuglink: the name of the debug file, without folders,
// and its checksum.
func (f *elfFile) debugLink() (name string, sum uint32, ok bool) {
	s := f.Section(".gnu_debuglink")
	if s == nil || s.FileSize > 4096 {
		return "", 0, false
	}
	data, err := s.Data()
	end := bytes.IndexByte(data, 0)
	at := (end + 4) &^ 3
	if err != nil || end <= 0 || at+4 > len(data) {
		return "", 0, false
	}
	return filepath.Base(string(data[:end])), f.ByteOrder.Uint32(data[at:]), true
}

// linksTo reports whether the file at path has the checksum in .gnu_debuglink.
func (f *elfFile) linksTo(path string) bool {
	if f == nil {
		return false
	}
	in, err := atomicfile.OpenModule(path, maxModule)
	if err != nil {
		return false
	}
	defer in.Close()
	_, want, ok := f.debugLink()
	sum := crc32.NewIEEE()
	_, err = io.Copy(sum, in)
	return ok && err == nil && sum.Sum32() == want
}

// name adds the names of addresses to found: functions and lines from DWARF, or
// only functions from the symbol table.
func (f *elfFile) name(addresses []uint64, found map[uint64]profile.Symbol) (err error) {
	defer func() {
		if trouble := recover(); trouble != nil {
			err = fmt.Errorf("damaged: %v", trouble)
		}
	}()
	lines, err := f.dwarfNames(addresses)
	for _, a := range addresses {
		if s, ok := lines[a]; ok && s.Line > 0 {
			found[a] = s.Symbol
		}
	}
	buffer := make([]byte, maxSymbol)
	for a, symbol := range f.functions(addresses) {
		s := found[a]
		if s.Function != "" || lines[a].hidden && s.Line > 0 {
			continue
		}
		name := plainName(symbol.symbolName(buffer))
		switch {
		case symbol.inside:
			s.Function, s.Near = name, ""
		case s.Line > 0 || s.Near != "":
			continue
		default:
			s.Near = name
		}
		if s.Line == 0 {
			s.Into = a - symbol.start
		}
		found[a] = s
	}
	return err
}

package symbolize

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/profile"
)

// Limits on a file: the bytes of an uncompressed section, and its compression
// ratio. Compilers' debug information compresses to a third or a fifth.
const (
	maxSection  = 4 << 30
	maxUnpacked = 64
	maxNote     = 1 << 16
)

// file is an open ELF file.
type file struct {
	*elf.File
	path     string
	buildID  string
	modified time.Time
	closer   io.Closer
}

// maxModule is the size of the largest program, library or debug file that is
// read. Those of the largest applications have a few GiB.
const maxModule = 64 << 30

func openFile(path string) (f *file, err error) {
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
	parsed, err := elf.NewFile(in)
	if err != nil {
		return nil, err
	}
	f = &file{File: parsed, path: path, modified: info.ModTime(), closer: in}
	f.buildID = f.findBuildID()
	return f, nil
}

func (f *file) close() { f.closer.Close() }

// findBuildID returns the build-id that the linker stored, in hex.
func (f *file) findBuildID() string {
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

func (f *file) buildIDIn(r io.ReaderAt, size uint64) string {
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

// section returns a section, uncompressed, or nil if the file has none of this
// name.
func (f *file) section(name string) ([]byte, error) {
	s := f.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	size := s.Size
	in := s.Open()
	size = max(size, s.Size) // older compilers' compression: Open determines the size
	if packed := s.FileSize; size > maxSection || size > packed && size/maxUnpacked > packed {
		return nil, fmt.Errorf("section %s claims to decompress from %d to %d bytes", name, packed, size)
	}
	data, err := io.ReadAll(io.LimitReader(in, int64(size)))
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	return data, nil
}

// debugPaths returns where the debug file may be: below debugDir by build-id,
// and, under the name that the file gives, next to the file and below debugDir.
func debugPaths(own *file, buildID, debugDir string) []string {
	var out []string
	if len(buildID) > 2 {
		out = append(out, filepath.Join(debugDir, ".build-id", buildID[:2], buildID[2:]+".debug"))
	}
	if own == nil {
		return out
	}
	if name, _, ok := own.debugLink(); ok {
		dir := filepath.Dir(own.path)
		if real, err := filepath.EvalSymlinks(own.path); err == nil {
			dir = filepath.Dir(real)
		}
		out = append(out, filepath.Join(dir, name), filepath.Join(dir, ".debug", name), filepath.Join(debugDir, dir, name))
	}
	return out
}

// debugLink reads .gnu_debuglink: the name of the debug file, without folders,
// and its checksum.
func (f *file) debugLink() (name string, sum uint32, ok bool) {
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
func (f *file) linksTo(path string) bool {
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
func (f *file) name(addresses []uint64, found map[uint64]profile.Symbol) (err error) {
	defer func() {
		if trouble := recover(); trouble != nil {
			err = fmt.Errorf("damaged: %v", trouble)
		}
	}()
	lines, err := f.dwarfNames(addresses)
	for _, a := range addresses {
		if s, ok := lines[a]; ok && s.Line > 0 {
			found[a] = s
		}
	}
	table := f.functions()
	for _, a := range addresses {
		s := found[a]
		if s.Function != "" {
			continue
		}
		if symbol, ok := table.at(a); ok {
			s.Function = plainName(symbol.Name)
			if s.Line == 0 {
				s.Into = a - symbol.Value
			}
			found[a] = s
		}
	}
	return err
}

// functions are the functions of a symbol table, sorted by address.
type functions []elf.Symbol

func (f *file) functions() functions {
	var out functions
	for _, read := range []func() ([]elf.Symbol, error){f.Symbols, f.DynamicSymbols} {
		all, _ := read() // a stripped file has no symbols; this is no error
		for _, s := range all {
			kind := elf.ST_TYPE(s.Info)
			if s.Section != elf.SHN_UNDEF && (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC) {
				out = append(out, s)
			}
		}
	}
	// If an address has several names, the global one is best known.
	slices.SortStableFunc(out, func(a, b elf.Symbol) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), rankOf(a)-rankOf(b))
	})
	return slices.CompactFunc(out, func(a, b elf.Symbol) bool { return a.Value == b.Value })
}

func rankOf(s elf.Symbol) int {
	switch elf.ST_BIND(s.Info) {
	case elf.STB_GLOBAL:
		return 0
	case elf.STB_WEAK:
		return 1
	}
	return 2
}

// at returns the function that contains the call with this return address.
func (t functions) at(address uint64) (elf.Symbol, bool) {
	n, _ := slices.BinarySearchFunc(t, address, func(s elf.Symbol, a uint64) int {
		if s.Value < a {
			return -1
		}
		return 1
	})
	if n == 0 || address == 0 {
		return elf.Symbol{}, false
	}
	s := t[n-1]
	return s, s.Size == 0 || address-1-s.Value < s.Size
}

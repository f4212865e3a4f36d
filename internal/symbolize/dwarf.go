package symbolize

import (
	"debug/dwarf"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// maxLineRows is the largest number of line table rows that are read of one
// file. The largest programs have fewer.
const maxLineRows = 1 << 28

var errEndless = errors.New("debug information without end")

// dwarfNames finds the function and line of the calls with these return
// addresses, which are sorted.
func (f *elfFile) dwarfNames(addresses []uint64) (map[uint64]lineSymbol, error) {
	defer f.release()
	s, err := f.scan()
	if s == nil || err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if a > 0 {
			s.calls = append(s.calls, a-1) // the call instruction ends right before its return address
		}
	}
	err = s.units()
	out := map[uint64]lineSymbol{}
	for call, line := range s.lines {
		symbol := profile.Symbol{Line: line.Line}
		if line.File != nil {
			symbol.Source = shortened(line.File.Name)
		}
		at, known := s.functions[call]
		if known {
			symbol.Function = shortened(s.nameOf(at))
		}
		// The symbol table names the function into which others were inlined.
		out[call+1] = lineSymbol{symbol, s.split[call] || known && symbol.Function == "" && s.isInlined(at)}
	}
	return out, err
}

// lineSymbol is what DWARF tells of a call. The function is hidden if it may have been inlined, and
// its name is in a file that is not read: the .dwo file of split DWARF, or the file of dwz -m.
type lineSymbol struct {
	profile.Symbol
	hidden bool
}

// isSplit reports whether the functions of a unit are in another file.
func isSplit(unit *dwarf.Entry) bool {
	const gnuName = dwarf.Attr(0x2130) // before DWARF 5
	return unit.Tag == dwarf.TagSkeletonUnit || unit.Val(dwarf.AttrDwoName) != nil || unit.Val(gnuName) != nil
}

// isInlined reports whether the entry at an offset is an inlined function.
func (s *dwarfScan) isInlined(at dwarf.Offset) bool {
	r := s.data.Reader()
	r.Seek(at)
	e, err := r.Next()
	return err == nil && e != nil && e.Tag == dwarf.TagInlinedSubroutine
}

// scan reads the debug sections that are needed. It returns nil if there is no
// debug information.
func (f *elfFile) scan() (s *dwarfScan, err error) {
	read := func(name string) []byte {
		section, e := f.section(".debug_" + name)
		if section == nil && e == nil {
			section, e = f.section(".zdebug_" + name)
		}
		if err == nil {
			err = e
		}
		return section
	}
	info := read("info")
	if len(info) == 0 || err != nil {
		return nil, err
	}
	abbrev, line, ranges, str := read("abbrev"), read("line"), read("ranges"), read("str")
	five := map[string][]byte{} // sections of DWARF 5
	for _, name := range []string{"addr", "line_str", "str_offsets", "rnglists"} {
		five[name] = read(name)
	}
	if err == nil {
		err = checkTexts(info, line, str, five["line_str"])
	}
	var last uint64
	if err == nil {
		last, err = unitHeads(f.ByteOrder, info, abbrev)
	}
	if err != nil {
		return nil, err
	}
	data, err := dwarf.New(abbrev, nil, nil, info, line, nil, ranges, str)
	for name, section := range five {
		if err == nil && section != nil {
			err = data.AddSection(".debug_"+name, section)
		}
	}
	return &dwarfScan{data: data, size: len(info), last: dwarf.Offset(last), line: line, files: lineFiles{order: f.ByteOrder, str: str, line: five["line_str"]},
		lines: map[uint64]dwarf.LineEntry{}, functions: map[uint64]dwarf.Offset{}, split: map[uint64]bool{}}, err
}

// maxShown is the length in bytes of the longest name or path that is kept.
const maxShown = 4 << 10

// shortened returns a copy of the start of a text.
func shortened(text string) string { return strings.Clone(text[:min(len(text), maxShown)]) }

// dwarfScan is one pass over the debug information, unit by unit.
type dwarfScan struct {
	data      *dwarf.Data
	size      int    // bytes in .debug_info
	line      []byte // .debug_line
	files     lineFiles
	last      dwarf.Offset // start of the last unit in .debug_info
	calls     []uint64     // addresses to find, sorted
	lines     map[uint64]dwarf.LineEntry
	functions map[uint64]dwarf.Offset // the innermost function that contains each address
	split     map[uint64]bool         // the addresses in units whose functions are in another file
	rows      int
}

// units reads the units that contain a wanted address. Outer entries come
// before inner ones, so the last function that contains an address is the
// innermost.
func (s *dwarfScan) units() error {
	r := s.data.Reader()
	var here []uint64 // the wanted addresses in this unit
	for n := 0; ; n++ {
		e, err := r.Next()
		if e == nil || err != nil {
			return err
		}
		if n > s.size { // an entry takes at least one byte, but the reader does not check this
			return errEndless
		}
		switch e.Tag {
		case dwarf.TagCompileUnit, dwarf.TagPartialUnit, dwarf.TagTypeUnit, dwarf.TagSkeletonUnit:
			here = s.inside(s.calls, e)
			if len(here) > 0 {
				if isSplit(e) {
					for _, call := range here {
						s.split[call] = true
					}
				}
				if err := s.readLines(e, here); err != nil {
					return err
				}
				continue
			}
			if e.Offset > s.last {
				return nil
			}
			r.SkipChildren() // skips to the next unit
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			for _, call := range s.inside(here, e) {
				s.functions[call] = e.Offset
			}
		case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType, dwarf.TagSubroutineType:
			// Types contain no code. Functions that they declare are defined
			// elsewhere.
			if next, ok := e.Val(dwarf.AttrSibling).(dwarf.Offset); ok && next > e.Offset {
				r.Seek(next)
			}
		}
	}
}

// inside returns the addresses that the entry's code contains.
func (s *dwarfScan) inside(calls []uint64, e *dwarf.Entry) []uint64 {
	if len(calls) == 0 {
		return nil
	}
	ranges, err := s.data.Ranges(e)
	if err != nil {
		return nil
	}
	if len(ranges) == 1 {
		return between(calls, ranges[0][0], ranges[0][1])
	}
	var out []uint64
	for _, r := range ranges {
		out = append(out, between(calls, r[0], r[1])...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// between returns the addresses low <= a < high of a sorted slice.
func between(calls []uint64, low, high uint64) []uint64 {
	i, _ := slices.BinarySearch(calls, low)
	j, _ := slices.BinarySearch(calls, high)
	return calls[i:max(i, j)]
}

// readLines reads the line table of a unit. A row applies up to the address of
// the next row.
func (s *dwarfScan) readLines(unit *dwarf.Entry, here []uint64) error {
	if at, ok := unit.Val(dwarf.AttrStmtList).(int64); ok && at >= 0 && at < int64(len(s.line)) {
		directory, _ := unit.Val(dwarf.AttrCompDir).(string)
		if err := s.files.check(s.line[at:], len(directory)); err != nil {
			return err
		}
	}
	table, err := s.data.LineReader(unit)
	if table == nil || err != nil {
		return err
	}
	var row, next dwarf.LineEntry
	row.EndSequence = true
	for n := 0; ; n++ {
		switch err := table.Next(&next); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if s.rows++; n > len(s.line) || s.rows > maxLineRows { // a row takes at least one byte, too
			return errEndless
		}
		if !row.EndSequence && next.Address > here[0] && row.Address <= here[len(here)-1] {
			for _, call := range between(here, row.Address, next.Address) {
				s.lines[call] = row
			}
		}
		row = next
	}
}

// nameOf returns the name of the function at an offset: the linkage name if there
// is one that says more, otherwise the name. Entries of inlined functions refer
// to another entry.
func (s *dwarfScan) nameOf(at dwarf.Offset) string {
	var name, linkage string
	r := s.data.Reader()
	for range 8 { // a damaged file may contain a cycle of references
		r.Seek(at)
		e, err := r.Next()
		if e == nil || err != nil {
			break
		}
		if v, ok := e.Val(dwarf.AttrName).(string); ok && name == "" {
			name = v
		}
		if v, ok := e.Val(dwarf.AttrLinkageName).(string); ok && linkage == "" {
			linkage = v
		}
		to, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			to, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			break
		}
		at = to
	}
	if scoped, ok := demangled(linkage); ok || name == "" {
		return scoped
	}
	return name
}

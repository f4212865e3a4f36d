package symbolize

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/symbolize/symbolizetest"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestLargeSections makes sections of a program as large as they can be claimed.
// Its call sites keep their names; lines are lost, and an error says so.
func TestLargeSections(t *testing.T) {
	dir := t.TempDir()
	program := compile(t, dir, "marks.c", "gcc", "-O2", "-gdwarf-5")
	calls := truths(t, program)
	whole := testenv.ReadFile(t, program)
	for _, c := range []struct {
		what     string
		size     int64
		sections string
		want     string // text of the error
	}{
		{"debug information", 40 << 30, ".debug_info .debug_line .debug_abbrev .debug_str", "needs more than 512 MiB"},
		{"debug information that fits, each section", 200 << 20, ".debug_info .debug_line", "needs more than 512 MiB"},
		{"a line table", maxSections, ".debug_line", "needs more than 512 MiB"},
		{"symbols and their names", 40 << 30, ".symtab .strtab .dynsym .dynstr", ""}, // from DWARF
	} {
		testenv.NoError(t, errors.Join(os.WriteFile(program, whole, 0o755), symbolizetest.Enlarge(program, c.size, strings.Fields(c.sections)...)))
		used := testenv.Allocated(func() {
			got, err := look(t, program, dir, calls)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.what, err, c.want)
			}
			if s := got[calls[0].address]; s.Function != "main" || (s.Line > 0) != (c.want == "") {
				t.Errorf("%s: got %+v", c.what, s)
			}
		})
		if used > 32<<20 { // of the heap: sections are not in it
			t.Errorf("%s: allocated %d bytes", c.what, used)
		}
	}
	testenv.NoError(t, errors.Join(os.WriteFile(program, whole, 0o755), symbolizetest.Enlarge(program, 1<<30, ".shstrtab")))
	if _, err := openFile(program); err == nil || !strings.Contains(err.Error(), "more section headers than any program has") {
		t.Errorf("names of sections: %v", err)
	}
}

// TestTables gives tables that debug/dwarf would make larger than the sections
// they are in.
func TestTables(t *testing.T) {
	order := binary.LittleEndian
	// A unit for every byte of abbreviations, of which each has its own table of
	// all that follow.
	abbrev := append(make([]byte, 0), []byte(strings.Repeat("\x01\x11\x00\x03\x08\x00\x00", 10_000))...)
	unit := []byte{8, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 0}
	var info []byte
	for i := range 5_000 {
		order.PutUint32(unit[6:], uint32(7*i))
		info = append(info, unit...)
	}
	if _, err := unitHeads(order, info, abbrev); !errors.Is(err, errLarge) {
		t.Errorf("many tables of abbreviations: %v", err)
	}
	if last, err := unitHeads(order, info[:20*len(unit)], abbrev); err != nil || last != uint64(19*len(unit)) {
		t.Errorf("20 tables of abbreviations: %d, %v", last, err)
	}
	head := func(version byte, rest string) []byte {
		out := []byte{0, 0, 0, 0, version, 0}
		if version >= 5 {
			out = append(out, 8, 0)
		}
		out = append(out, "\x00\x00\x00\x00\x01\x01\x01\xfb\x0e\x01"...) // header length … number of opcodes
		out = append(out, rest...)
		order.PutUint32(out, uint32(len(out)-4))
		return out
	}
	const string5 = "\x01\x01\x08" // one form: a text in the table itself
	for what, c := range map[string]struct {
		table []byte
		want  error
	}{
		"few files":                   {head(4, "dir\x00\x00file\x00\x01\x00\x00\x00"), nil},
		"many files, long directory":  {head(4, strings.Repeat("d", 1<<16)+"\x00\x00"+strings.Repeat("f\x00\x01\x00\x00", 10_000)+"\x00"), errLarge},
		"files that the program adds": {head(4, strings.Repeat("d", 1<<16)+"\x00\x00\x00"+strings.Repeat("x", 1<<16)), errLarge},
		"few files, DWARF 5":          {head(5, string5+"\x01dir\x00"+string5+"\x01file\x00"), nil},
		"many files, DWARF 5":         {head(5, string5+"\x01"+strings.Repeat("d", 1<<16)+"\x00"+string5+"\x90\x4e"+strings.Repeat("f\x00", 10_000)), errLarge},
		"more than fit, DWARF 5":      {head(5, string5+"\xff\xff\xff\xff\xff\x0fdir\x00"), errDamaged},
	} {
		files := lineFiles{order: order}
		if err := files.check(c.table, 10); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", what, err, c.want)
		}
	}
	text := []byte(strings.Repeat("x", maxText))
	if checkTexts(append(text[:maxText-1:maxText-1], 0, 'x')) != nil || checkTexts(append(text[:maxText:maxText], 'x', 0)) == nil {
		t.Error("the limit of texts is not kept")
	}
}

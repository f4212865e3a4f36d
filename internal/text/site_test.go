package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSite checks that the parts that distinguish two call sites are always
// kept.
func TestSite(t *testing.T) {
	for _, c := range []struct {
		label string
		width int
		want  string
	}{
		{"swap halo.c:7", 26, "swap halo.c:7"},
		{"LAMMPS_NS::GridComm::forward_comm gridcomm.cpp:118", 40, "GridComm::forward_comm gridcomm.cpp:118"},
		{"grid::halo::Exchange::swap_borders halo.cpp:118", 26, "Exch…::swap_… halo.cpp:118"},
		{"a::b::Exchange::swap halo.cpp:118", 26, "Exchan…::swap halo.cpp:118"},
		{"exchange_borders_with_all halo.cpp:118", 26, "exchange_bor… halo.cpp:118"},
		{"LAMMPS_NS::CommBrick::reverse_comm+0x2bb (liblammps.so.0)", 45, "CommBri…::reverse_comm+0x2bb (liblammps.so.0)"},
		{"LAMMPS_NS::CommBrick::reverse_comm+0x2bb (liblammps.so.0)", 46, "CommBrick::reverse_comm+0x2bb (liblammps.so.0)"},
		{"send+0x4b (a-very-long-library.so.40)", 26, "send+0x4b (a-very-long-library.so.40)"},
		{"send_all+0x4b (a-very-long-library.so.40)", 26, "send…+0x4b (a-very-long-library.so.40)"},
		{"a-very-long-library.so.40+0x4b52", 20, "a-very-long-library.so.40+0x4b52"},
		{"f " + strings.Repeat("x", 40) + ".c:1", 26, "f …" + strings.Repeat("x", 19) + ".c:1"},
		{"a/long/way/to/the/file.c:10", 12, "…e/file.c:10"},
		{"(anonymous namespace)::Halo::swap halo.cc:1", 20, "Halo::swap halo.cc:1"},
		{"std::map<a::b, c::d>::run x.cc:1", 20, "map<a::…::run x.cc:1"},
	} {
		got := Site(c.label, c.width, false)
		if got != c.want {
			t.Errorf("%s in %d: got %s, want %s", c.label, c.width, got, c.want)
		}
	}
	for width := range 60 {
		for _, label := range []string{"", " ", "a (b)", " (", "::", "f halo.c:1", "a::b::c d", "μ::ν::ξ ο:1", "+0x1 (m)"} {
			if got := Site(label, width, width%2 == 0); !utf8.ValidString(got) {
				t.Errorf("%q in %d: got %q", label, width, got)
			}
		}
	}
}

// TestFirst checks that what remains of a text is no other statement: no number is cut, and none
// loses its unit.
func TestFirst(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"rank 3 waits", 12, "rank 3 waits"},
		{"rank 3 waits 12.5 s", 18, "rank 3 waits…"},
		{"rank 3 waits 12.5 s", 17, "rank 3 waits…"},
		{"rank 3 waits 12.5 s", 12, "rank…"},
		{"it takes 1,234,567 ns of all", 15, "it takes…"},
		{"at solve halo.c:166 on grid", 20, "at solve halo.c:166…"},
		{strings.Repeat("x", 30) + "1234567 y", 35, strings.Repeat("x", 30) + "…"},
		{strings.Repeat("x", 200), 10, strings.Repeat("x", 9) + "…"},
		{strings.Repeat("名", 200), 10, strings.Repeat("名", 4) + "…"},
	} {
		got := First(c.text, c.width, false)
		if got != c.want {
			t.Errorf("First(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
		if Columns(got) > c.width || Columns(First(c.text, c.width, true)) > c.width {
			t.Errorf("First(%q, %d) is too wide", c.text, c.width)
		}
	}
}

func TestFirstBytes(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
		cut   bool
	}{
		{"rank 3", 6, "rank 3", false},
		{"a\nb", 10, `a\nb`, false},
		{strings.Repeat("\x01", 1000), 11, `\x01\x01…`, true},
		{strings.Repeat("é", 1000), 10, "ééé…", true},
		{strings.Repeat("名", 4), 11, "名名…", true},
	} {
		got, cut := FirstBytes(c.text, c.limit)
		if got != c.want || cut != c.cut {
			t.Errorf("FirstBytes(%.20q, %d) = %q, %v, want %q, %v", c.text, c.limit, got, cut, c.want, c.cut)
		}
		if len(got) > c.limit || !utf8.ValidString(got) {
			t.Errorf("FirstBytes(%.20q, %d) = %q", c.text, c.limit, got)
		}
	}
}

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

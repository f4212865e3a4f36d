package placement

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// output runs a command of hwloc.
func output(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.Command(command[0], command[1:]...).Output()
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(command, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// TestHwloc reads what lstopo writes in both versions, and compares it with what
// hwloc-calc says of the same topology.
func TestHwloc(t *testing.T) {
	testenv.Need(t, "lstopo", "hwloc-calc")
	for _, c := range []struct{ spec, levels, levels1 string }{
		{"pack:2 [numa] l3:2 core:4 pu:2", "l3:2×4 socket:3×2 node:5×1 system:50×1", ""},
		// 32 processors, numbered as Linux does: the second thread of core 0 is processor 8
		{"pack:2 [numa] core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)", "socket:3×2 node:5×1 system:50×1", ""},
		{"pack:1 [numa] l3:1 l2:2 core:2 pu:1", "l2:1×2 node:5×1 system:50×1", ""},
		{"pack:2 numa:2 l3:2 core:2 pu:1", "l3:2×8 numa:3×4 socket:3×2 node:5×1 system:50×1", ""},
		{"numa:4 core:3 pu:1", "numa:3×4 node:5×1 system:50×1", ""},
		{"pack:3 core:1 pu:4", "node:5×1 system:50×1", ""}, // one core in each package
	} {
		for _, flags := range []string{"0", "1"} { // versions 2 and 1
			file := output(t, "lstopo", "--if", "synthetic", "--input", c.spec, "--of", "xml", "--export-xml-flags", flags, "-")
			tree, err := ReadHwloc(strings.NewReader(file), "node.xml")
			if err != nil {
				t.Errorf("%s, flags %s: %v", c.spec, flags, err)
				continue
			}
			topology, err := tree.Topology(nil)
			if err != nil || levels(topology) != c.levels {
				t.Errorf("%s, flags %s: %s, %v; want %s", c.spec, flags, levels(topology), err, c.levels)
				continue
			}
			calc := []string{"hwloc-calc", "--if", "synthetic", "--input", c.spec}
			if want := output(t, append(calc, "--number-of", "core", "all")...); fmt.Sprint(len(topology.Slots)) != want {
				t.Errorf("%s: %d slots, want %s", c.spec, len(topology.Slots), want)
			}
			for i, s := range topology.Slots {
				if want := output(t, append(calc, "--po", "-I", "pu", fmt.Sprintf("core:%d", i))...); strings.ReplaceAll(listOf(t, s.Processors), " ", ",") != want || s.Cores != strconv.Itoa(i) {
					t.Errorf("%s: core %d is %q with processors %s, want %s", c.spec, i, s.Cores, s.Processors, want)
				}
			}
		}
	}
}

// TestHwlocBroken reads hostile and damaged files.
func TestHwlocBroken(t *testing.T) {
	machine := func(inner string) string { return `<topology><object type="Machine">` + inner + `</object></topology>` }
	deep := strings.Repeat(`<object type="Group">`, 100) + strings.Repeat("</object>", 100)
	deepInfo := strings.Repeat(`<info>`, 100) + strings.Repeat("</info>", 100)
	for name, c := range map[string]struct{ file, want string }{
		"empty":            {"", "it has no object"},
		"another format":   {"<html><body/></html>", `begins with element "html"`},
		"not XML":          {"hello", "it has no object"},
		"truncated":        {`<topology><object type="Machine"><object type="Core">`, "unexpected EOF"},
		"mismatched":       {`<topology><object type="Machine"></topology>`, "closed by"},
		"no core":          {machine(""), "neither cores nor processors"},
		"no machine":       {`<topology><object type="Package"/></topology>`, `of type "Package", not Machine`},
		"deep objects":     {machine(deep), "nested more than 64 deep"},
		"deep elements":    {machine(deepInfo), "nested more than 64 deep"},
		"many objects":     {machine(strings.Repeat(`<object type="Core"/>`, 1<<20)), "more than 1,048,576 objects"},
		"no os_index":      {machine(`<object type="PU"/>`), "a processor has no os_index from 0 to 65535"},
		"large os_index":   {machine(`<object type="PU" os_index="65536"/>`), "no os_index"},
		"unknown entity":   {machine(`&lol;`), "entity"},
		"wrong characters": {"<topology>\x00", "illegal character"},
	} {
		_, err := ReadHwloc(strings.NewReader(c.file), "node.xml")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "node.xml:") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestHwlocOrder reads a file whose levels are not nested in the same order everywhere:
// the first order counts.
func TestHwlocOrder(t *testing.T) {
	core := func(n int) string {
		return fmt.Sprintf(`<object type="Core"><object type="PU" os_index="%d"/></object>`, n)
	}
	file := `<topology><object type="Machine">` +
		`<object type="Package"><object type="L3Cache">` + core(0) + core(1) + `</object><object type="L3Cache">` + core(2) + core(3) + `</object></object>` +
		`<object type="L3Cache"><object type="Package">` + core(4) + core(5) + `</object>` + core(6) + `</object>` +
		`</object></topology>`
	tree, err := ReadHwloc(strings.NewReader(file), "node.xml")
	testenv.NoError(t, err)
	got, err := tree.Topology(nil)
	if err != nil || len(got.Slots) != 7 {
		t.Fatalf("%d slots, %v", len(got.Slots), err)
	}
	// Cores 4 to 6 share the third L3, and no package: this L3 is where a package would be.
	if want := "l3:2×3 socket:3×2 node:5×1 system:50×1"; levels(got) != want {
		t.Errorf("%s, want %s", levels(got), want)
	}
}

func FuzzHwloc(f *testing.F) {
	f.Add(`<topology><object type="Machine"><object type="Package"><object type="Core"><object type="PU" os_index="3"/></object></object></object></topology>`)
	f.Add(`<!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology><object type="Machine"><object type="Group"><object type="NUMANode"/><object type="PU" os_index="0"/></object></object></topology>`)
	f.Fuzz(func(t *testing.T, file string) {
		tree, err := ReadHwloc(strings.NewReader(file), "node.xml")
		if err != nil {
			return
		}
		if _, err := tree.Topology(nil); err != nil {
			t.Errorf("a tree that was read is no topology: %v", err)
		}
	})
}

package mpitrace_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// moreAtSweep matches a test that does more at level sweep, from its name to
// where it asks for the level.
var moreAtSweep = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n(?:\t.*\n|\n)*?\t.*(?:testenv\.Sweep|allOrSweep\(\))`)

// TestSweep requires that scripts/sweep.sh has a part for each test that does
// more at level sweep, and that docs/reliability.md has a row for each part.
func TestSweep(t *testing.T) {
	script := testenv.ReadFile(t, "scripts/sweep.sh")
	_, list, _ := strings.Cut(string(script), "\nparts='\n")
	list, _, _ = strings.Cut(list, "\n'\n")
	var parts []string
	tests := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\S+) +(\S+) +(\w+)`).FindAllStringSubmatch(list, -1) {
		parts = append(parts, m[1])
		if m[2] != "fuzz" {
			tests[m[3]] = true
		}
	}
	code := map[string]bool{}
	for _, s := range sources(t, ".go") {
		for _, m := range moreAtSweep.FindAllSubmatch(s.text, -1) {
			code[string(m[1])] = true
		}
	}
	if !maps.Equal(tests, code) {
		t.Errorf("parts of %q; at level sweep %q do more", slices.Sorted(maps.Keys(tests)), slices.Sorted(maps.Keys(code)))
	}

	page := testenv.ReadFile(t, "docs/reliability.md")
	_, table, _ := strings.Cut(string(page), "\n## The sweep\n")
	_, table, _ = strings.Cut(table, "| --- | --- |")
	var rows []string
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z][a-z-]*) \| .+ \| (?:not yet|\d{4}-\d\d-\d\d) \|.*\|.*\|.*\|$`).FindAllStringSubmatch(table, -1) {
		rows = append(rows, m[1])
	}
	if !slices.Equal(rows, parts) {
		t.Errorf("docs/reliability.md has the parts %q, scripts/sweep.sh %q", rows, parts)
	}
}

package views_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/patterns"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/terminal"
)

// patternsOf returns the section of patterns of a report.
func patternsOf(t *testing.T, ascii bool, direct, collectives *matrix.Matrix, ranks int) string {
	t.Helper()
	ms := new(matrix.ByClass)
	ms[matrix.External].Merge(direct)
	ms[matrix.Collective].Merge(collectives)
	found := patterns.Find(ms, ranks)
	var b bytes.Buffer
	if err := terminal.Write(&b, views.PatternSections(&found), terminal.Options{ASCII: ascii}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPatternsText(t *testing.T) {
	// A stencil of 5 × 4 ranks without diagonals has 2 × (4 × 4 + 5 × 3) pairs, of 1000
	// bytes each; 1 in 32 of all bytes goes from rank 0 to rank 18.
	grid, all, none := new(matrix.Matrix), new(matrix.Matrix), new(matrix.Matrix)
	for r := range 20 {
		for _, d := range []int{1, 4} {
			if d == 4 && r < 16 || d == 1 && r%4 < 3 {
				grid.Add(matrix.Pair{From: r, To: r + d}, matrix.Volume{Bytes: 1000, Messages: 1})
				grid.Add(matrix.Pair{From: r + d, To: r}, matrix.Volume{Bytes: 1000, Messages: 1})
			}
		}
		for to := range 20 {
			if r != to {
				all.Add(matrix.Pair{From: r, To: to}, matrix.Volume{Bytes: 8, Messages: 1})
			}
		}
	}
	grid.Add(matrix.Pair{From: 0, To: 18}, matrix.Volume{Bytes: 2000, Messages: 1})
	const want = `patterns: point-to-point and one-sided
  2-D stencil 5 × 4, 4 neighbours, not periodic: 96.9 % of bytes
  not explained: 3.1 % of bytes
`
	if got := patternsOf(t, false, grid, all, 20); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := patternsOf(t, true, grid, none, 20), strings.ReplaceAll(want, "×", "x"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	const collectives = "patterns: collectives (logical volume)\n  every rank sends to every rank: 100.0 % of bytes\n"
	if got := patternsOf(t, false, none, all, 20); got != collectives {
		t.Errorf("got %s\nwant %s", got, collectives)
	}
	if got := patternsOf(t, false, none, none, 20); got != "" {
		t.Errorf("got %s, want nothing", got)
	}
}

package arrowfile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestLost reads what was damaged, with ranks.arrow and without: each damage once.
func TestLost(t *testing.T) {
	ps := jobs.Full("run")
	for i, p := range ps {
		p.Problems, p.Source = nil, fmt.Sprintf("recordings/%d.rec", i)
	}
	const other = "read recording recordings/x.rec: truncated at byte 10"
	const damage = "recordings/2.rec is damaged: byte 1: no such kind; byte 2: truncated"
	ps[0].Lost, ps[2].Problems = []string{other}, []string{"byte 1: no such kind", "byte 2: truncated"}
	path := writeRun(t, ps)
	for i, p := range read(t, path) {
		if !slices.Equal(p.Lost, ps[i].Lost) || !slices.Equal(p.Problems, ps[i].Problems) {
			t.Errorf("rank %d: lost %q, problems %q", p.Rank, p.Lost, p.Problems)
		}
	}
	removeRanks(t, path)
	for i, p := range read(t, path) {
		var want []string
		if i == len(ps)-1 {
			want = []string{other, damage}
		}
		if !slices.Equal(p.Lost, want) || p.Problems != nil {
			t.Errorf("rank %d: lost %q, want %q; problems %q", p.Rank, p.Lost, want, p.Problems)
		}
	}
}

// TestLostWithoutRows requires an error for damage of a recording of which no table has a row.
func TestLostWithoutRows(t *testing.T) {
	path := writeRun(t, []*profile.Profile{{Run: "run", Source: "0.rec", Problems: []string{"byte 1: truncated"}}})
	removeRanks(t, path)
	f, err := Open(path)
	testenv.NoError(t, err)
	err = f.Each(func(p *profile.Profile) error { return fmt.Errorf("rank %d", p.Rank) })
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "0.rec is damaged: byte 1: truncated") {
		t.Errorf("got %v", err)
	}
}

func removeRanks(t *testing.T, path string) {
	t.Helper()
	testenv.NoError(t, os.Remove(filepath.Join(filepath.Dir(path), "ranks.arrow")))
}

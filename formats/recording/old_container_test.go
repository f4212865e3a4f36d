package recording

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Containers and packed recordings of the first format are read. testdata/first-format.node
// and .rec were written by commit 4685524, of small(0) to small(3).
func TestFirstFormat(t *testing.T) {
	path := filepath.Join("testdata", "first-format.node")
	c := opening(t, path)
	if len(c.Heads()) != 4 || len(c.Problems()) > 0 {
		t.Fatalf("%d recordings, %q", len(c.Heads()), c.Problems())
	}
	for rank := range 4 {
		want := asRead(t, small(rank), filepath.Join(path, named(small(rank))))
		got, err := readWhole(c, rank)
		testenv.NoError(t, err)
		testenv.Equal(t, want, got)
	}
	single := filepath.Join("testdata", "first-format.rec")
	got := readPath(t, single)
	testenv.Equal(t, asRead(t, small(0), single), got)
	again := packAgain(t, c, nil)
	for rank := range 4 {
		if diff := cmp.Diff(asRead(t, small(rank), filepath.Join(again.Path(), named(small(rank)))), readOf(t, again, rank)); diff != "" {
			t.Errorf("packed again: %s", diff)
		}
	}
	var out bytes.Buffer
	names := profile.Symbols{{Path: "/app", Offset: 7}: {Function: "solve", Line: 2}}
	testenv.NoError(t, c.NameTo(&out, names))
	named := opening(t, writeContainer(t, out.Bytes()))
	if diff := cmp.Diff(names, named.Symbols()); diff != "" || !slices.Equal(named.Names(), c.Names()) || named.old {
		t.Errorf("named: %s; %q", diff, named.Names())
	}
}

// Damage of a container of the first format is reported, and affects one process at most.
func TestFirstFormatDamage(t *testing.T) {
	raw := testenv.ReadFile(t, filepath.Join("testdata", "first-format.node"))
	path := writeContainer(t, raw)
	want := outcomeOf(t, path)
	for at := len(containerMagic); at < len(raw); at += 3 * testenv.Step(7) {
		flipped := bytes.Clone(raw)
		flipped[at] ^= 1 << (at % 8)
		want.check(t, path, fmt.Sprintf("bit %d of byte %d flipped", at%8, at), flipped, 3)
	}
}

// packAgain packs the recordings of a container into a new one.
func packAgain(t testing.TB, c *Container, names Namer) *Container {
	t.Helper()
	var out bytes.Buffer
	testenv.NoError(t, c.PackTo(&out, names))
	return opening(t, writeContainer(t, out.Bytes()))
}

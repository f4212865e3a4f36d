package recording

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// learnt returns a container with a dictionary, of 16 processes with some rows.
func learnt(t testing.TB) []byte {
	t.Helper()
	raws := make([][]byte, 16)
	for rank := range raws {
		p := small(rank)
		for i := range 40 {
			p.Rows = append(p.Rows, profile.Row{Call: "Init", Class: profile.Other, Comm: -1, Peer: -1, Callsite: uint64(i), Calls: 1, TimeNs: uint64(rank*i + 7)})
		}
		raws[rank] = imageBytes(t, p)
	}
	var out bytes.Buffer
	w := NewContainerWriter(&out, nil)
	testenv.NoError(t, w.Learn(len(raws), func(i int) []byte { return raws[i] }))
	for rank, raw := range raws {
		testenv.NoError(t, w.addBytes(named(small(rank)), raw, nil))
	}
	testenv.NoError(t, w.Close())
	return out.Bytes()
}

// framesOf returns the offset of the first byte and of the byte behind each frame of a kind.
func framesOf(c *Container, kind frameKind) (found [][2]int64) {
	for at := int64(len(containerMagic)); ; {
		f, _, ok := c.frameAt(at)
		if !ok {
			return found
		}
		end := f.at + f.packed
		if f.kind == kind {
			found = append(found, [2]int64{at, end})
		}
		at = end
	}
}

// A container has its dictionary twice: if one is damaged, that is reported and nothing is
// lost. If both are, each recording is named.
func TestDictionaryDamage(t *testing.T) {
	raw := learnt(t)
	path := writeContainer(t, raw)
	want := outcomeOf(t, path)
	c := opening(t, path)
	copies := framesOf(c, dictionaryFrame)
	if len(want.of) != 16 || len(want.reported) > 0 || len(copies) != 2 {
		t.Fatalf("%d profiles, %q, %d dictionaries", len(want.of), want.reported, len(copies))
	}
	flip := func(raw []byte, at int64) []byte {
		raw = bytes.Clone(raw)
		raw[at] ^= 1 << (at % 8)
		return raw
	}
	for i, place := range copies {
		for at := place[0]; at < place[1]; at += 1 + (place[1]-place[0])/12 {
			what := fmt.Sprintf("byte %d, in dictionary %d", at, i)
			want.check(t, path, what, flip(raw, at), 16)
			if reported := outcomeOf(t, path).reported; i == 1 && !strings.Contains(strings.Join(reported, "\n"), "the dictionary is damaged") {
				t.Errorf("%s: %q", what, reported)
			}
			want.check(t, path, what+", without an index", flip(raw, at)[:len(raw)-1], 16)
		}
	}
	both := flip(flip(raw, copies[0][0]+20), copies[1][0]+20)
	want.check(t, path, "both", both, 0)
	reported := outcomeOf(t, path).reported
	for rank := range 16 {
		name := named(small(rank))
		if !slices.ContainsFunc(reported, func(line string) bool {
			return strings.Contains(line, name) && strings.Contains(line, "dictionary of the container is lost")
		}) {
			t.Errorf("%s is not named: %q", name, reported)
		}
	}
}

// TestLearnWithoutSense learns from samples of which no useful dictionary can be made. All
// recordings must be packed and be read again.
func TestLearnWithoutSense(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	noise := make([]byte, 10_000)
	random.Read(noise)
	for what, raw := range map[string][]byte{"nothing": nil, "zeros": make([]byte, 10_000), "noise": noise,
		"a header": imageBytes(t, small(0))[:200], "a long one": make([]byte, LongestSample+1), "equal": imageBytes(t, small(0))} {
		var out bytes.Buffer
		w := NewContainerWriter(&out, nil)
		if err := w.Learn(10, func(int) []byte { return raw }); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for rank := range 10 {
			if err := w.addBytes(named(small(rank)), imageBytes(t, small(rank)), nil); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		testenv.NoError(t, w.Close())
		if got := outcomeOf(t, writeContainer(t, out.Bytes())); len(got.of) != 10 || len(got.reported) > 0 {
			t.Errorf("%s: %d profiles, %q", what, len(got.of), got.reported)
		}
	}
}

// namer gives the same name to all call sites.
type namer struct {
	seen map[profile.Place]bool
	name profile.Symbol
}

func (n *namer) Add(p *profile.Profile) {
	for _, a := range p.Addresses() {
		n.seen[p.Place(a)] = true
	}
}

func (n *namer) Names() profile.Symbols {
	names := profile.Symbols{}
	for place := range n.seen {
		names[place] = n.name
	}
	return names
}

// readOf returns a process of a container.
func readOf(t testing.TB, c *Container, rank int) *profile.Profile {
	t.Helper()
	p, err := readWhole(c, rank)
	testenv.NoError(t, err)
	return p
}

// Names of call sites are kept when a container is packed again. If they are damaged, all
// else can still be read.
func TestNamesOfContainer(t *testing.T) {
	name := profile.Symbol{Function: "solve", Into: 3, Source: "/src/solve.c", Line: 12}
	c := packAgain(t, opening(t, writeContainer(t, inMemory(t, processOf(0), processOf(1)))), &namer{map[profile.Place]bool{}, name})
	p := readOf(t, c, 0)
	if len(p.Symbols) == 0 || len(p.Addresses()) == 0 {
		t.Fatalf("%d names of %d addresses", len(p.Symbols), len(p.Addresses()))
	}
	for _, a := range p.Addresses() {
		if got := p.Symbols[p.Place(a)]; got != name {
			t.Errorf("%#x: %+v", a, got)
		}
	}
	path := c.Path()
	raw := testenv.ReadFile(t, path)
	want := outcomeOf(t, path)
	place := framesOf(c, namesFrame)[0]
	for at := place[0]; at < place[1]; at += 1 + (place[1]-place[0])/20 {
		flipped := bytes.Clone(raw)
		flipped[at] ^= 1 << (at % 8)
		want.checkNameless(t, path, flipped)
	}
}

// checkNameless requires that nothing but the names of call sites is lost.
func (want outcome) checkNameless(t *testing.T, path string, raw []byte) {
	t.Helper()
	testenv.WriteFile(t, path, raw)
	got := outcomeOf(t, path)
	if len(got.of) != len(want.of) || !strings.Contains(strings.Join(got.reported, "\n"), "names of call sites are lost") {
		t.Fatalf("%d profiles, %q", len(got.of), got.reported)
	}
	for i, p := range got.of {
		whole := *want.of[i]
		whole.Symbols = nil
		testenv.Equal(t, &whole, p)
	}
}

package matrix

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// spread is a matrix with all entries written out: the reference for its sums.
// Entries of zeros count as entries.
type spread map[Pair]Volume

func (s spread) add(p Pair, v Volume) {
	sum := s[p]
	sum.Add(v)
	s[p] = sum
}

const testRanks = 13

// randomGroup returns a strided or an irregular group of ranks below testRanks,
// sometimes with processes of another world.
func randomGroup(r *rand.Rand) profile.Group {
	if r.IntN(2) == 0 {
		g := profile.Group{Base: r.IntN(4), Stride: 1 + r.IntN(3)}
		g.N = 1 + r.IntN((testRanks-1-g.Base)/g.Stride+1)
		return g
	}
	list := []int32{}
	for _, rank := range r.Perm(testRanks)[:1+r.IntN(6)] {
		if r.IntN(8) == 0 {
			rank = profile.PeerElsewhere
		}
		list = append(list, int32(rank))
	}
	return profile.Group{List: list}
}

func randomVolume(r *rand.Rand) Volume { return Volume{r.Uint64N(50), r.Uint64N(4)} }

// randomMatrix returns a matrix with entries and group patterns, and the same
// written out. Half of the matrices have most of their entries in a file.
func randomMatrix(r *rand.Rand) (*Matrix, spread) {
	m, want := new(Matrix), spread{}
	if r.IntN(2) == 0 {
		m.Spill(NewScratch(r.IntN(2000), func() (ScratchFile, error) { return new(memoryFile), nil }))
	}
	for range r.IntN(60) {
		p, v := Pair{r.IntN(testRanks), r.IntN(testRanks)}, randomVolume(r)
		m.Add(p, v)
		want.add(p, v)
	}
	for range r.IntN(4) {
		addCollective(m, want, r)
	}
	return m, want
}

func addCollective(m *Matrix, want spread, r *rand.Rand) {
	from := randomGroup(r)
	to, higher := from, r.IntN(3) == 0
	if !higher && r.IntN(3) == 0 {
		to = randomGroup(r)
	}
	f := m.pattern(&groupPattern{from: newGroup(from), to: newGroup(to), higherOnly: higher})
	for _, place := range r.Perm(from.Len())[:r.IntN(from.Len()+1)] {
		v := randomVolume(r)
		f.each.add(int32(place), v)
		for q := range to.Len() {
			p := Pair{from.At(place), to.At(q)}
			if p.From >= 0 && p.To >= 0 && p.From != p.To && (!higher || q > place) {
				want.add(p, v)
			}
		}
	}
	m.parts = nil
}

func entries(m *Matrix) spread {
	out := spread{}
	for p, v := range m.All() {
		if _, twice := out[p]; twice {
			panic("an entry comes twice")
		}
		out[p] = v
	}
	return out
}

// sums returns s without entries of zeros, because folding may create such
// entries.
func (s spread) sums() spread {
	out := spread{}
	for p, v := range s {
		if v != (Volume{}) {
			out[p] = v
		}
	}
	return out
}

func (s spread) top(n int) []Cell {
	all := []Cell{}
	for p, v := range s {
		all = append(all, Cell{p, v})
	}
	slices.SortFunc(all, compareBusy)
	return all[:min(n, len(all))]
}

func eachRandomMatrix(t *testing.T, check func(t *testing.T, r *rand.Rand, m *Matrix, want spread)) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		m, want := randomMatrix(r)
		check(t, r, m, want)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestEntriesAreWhatWasAdded(t *testing.T) {
	eachRandomMatrix(t, func(t *testing.T, r *rand.Rand, m *Matrix, want spread) {
		same(t, "All", want, entries(m))
		order := []Pair{}
		for p := range m.All() {
			order = append(order, p)
		}
		if !slices.IsSortedFunc(order, Pair.Compare) {
			t.Errorf("not by row and column: %v", order)
		}
		if m.Len() != len(want) {
			t.Errorf("Len is %d of %d", m.Len(), len(want))
		}
		for _, most := range []int{0, 5, 30, 1000} {
			n, exact := m.LenUpTo(most)
			if exact && n != len(want) || !exact && (n <= most || n > len(want)) {
				t.Errorf("LenUpTo(%d) is %d, exact %v, of %d", most, n, exact, len(want))
			}
		}
		for from := range testRanks {
			row := spread{}
			for to, v := range m.Row(from) {
				row[Pair{from, to}] = v
			}
			for to := range testRanks {
				p := Pair{from, to}
				v, has := want[p]
				if m.At(from, to) != v || hasEntry(m, p) != has || row[p] != v {
					t.Errorf("at %v: %v, row %v, want %v", p, m.At(from, to), row[p], v)
				}
			}
		}
	})
}

func TestSumsNeedNoSpreading(t *testing.T) {
	eachRandomMatrix(t, func(t *testing.T, r *rand.Rand, m *Matrix, want spread) {
		var total Volume
		sent, received := make([]Volume, testRanks), make([]Volume, testRanks)
		size := 0
		for p, v := range want {
			total.Add(v)
			sent[p.From].Add(v)
			received[p.To].Add(v)
			size = max(size, p.From+1, p.To+1)
		}
		same(t, "Total", total, m.Total())
		gotSent, gotReceived := lineSums(m)
		same(t, "sent", sent, gotSent)
		same(t, "received", received, gotReceived)
		if m.Size() < size {
			t.Errorf("Size is %d, want at least %d", m.Size(), size)
		}
		for _, n := range []int{0, 1, 5, 1000} {
			same(t, "Top", want.top(n), m.Top(n))
		}
	})
}

// hasEntry reports whether a pair has an entry, which may be zero.
func hasEntry(m *Matrix, p Pair) bool {
	_, ok := m.rowAt(p.From).at(p.To)
	return ok
}

func lineSums(m *Matrix) (sent, received []Volume) {
	sent, received = make([]Volume, testRanks), make([]Volume, testRanks)
	m.AddLineSums(sent, received)
	return sent, received
}

func TestFold(t *testing.T) {
	lines := map[string]func(int) int{
		"blocks":   func(rank int) int { return rank / 4 },
		"in turns": func(rank int) int { return rank % 3 },
		"left out": func(rank int) int { return rank%5 - 1 },
		"alone":    func(rank int) int { return rank },
	}
	eachRandomMatrix(t, func(t *testing.T, r *rand.Rand, m *Matrix, want spread) {
		for name, line := range lines {
			folded := spread{}
			for p, v := range want {
				if a, b := line(p.From), line(p.To); a >= 0 && b >= 0 {
					folded.add(Pair{a, b}, v)
				}
			}
			got := m.Fold(line)
			same(t, name, folded.sums(), entries(got).sums())
			var total Volume
			for _, v := range folded {
				total.Add(v)
			}
			same(t, name+", total", total, got.Total())
			same(t, name+", top", folded.sums().top(3), slices.DeleteFunc(got.Top(3), func(c Cell) bool { return c.Volume == Volume{} }))
			again := spread{} // blocks of blocks
			for p, v := range folded {
				again.add(Pair{p.From / 2, p.To / 2}, v)
			}
			same(t, name+", twice", again.sums(), entries(got.Fold(func(a int) int { return a / 2 })).sums())
		}
	})
}

func TestRestrict(t *testing.T) {
	eachRandomMatrix(t, func(t *testing.T, r *rand.Rand, m *Matrix, want spread) {
		odd, low := func(rank int) bool { return rank%2 == 1 }, func(rank int) bool { return rank < 6 }
		check := func(name string, m *Matrix, want spread) {
			part := spread{}
			for p, v := range want {
				if odd(p.From) && low(p.To) {
					part[p] = v
				}
			}
			got := m.Restrict(odd, low)
			same(t, name, part, entries(got))
			if got.Len() != len(part) {
				t.Errorf("%s: Len is %d of %d", name, got.Len(), len(part))
			}
		}
		check("Restrict", m, want)
		check("Restrict of both directions", m.Symmetric(), entries(m.Symmetric()))
	})
}

func TestSymmetricIsItsTranspose(t *testing.T) {
	eachRandomMatrix(t, func(t *testing.T, r *rand.Rand, m *Matrix, want spread) {
		both := spread{}
		for p, v := range want {
			both.add(p, v)
			both.add(Pair{p.To, p.From}, v)
		}
		s := m.Symmetric()
		same(t, "Symmetric", both, entries(s))
		for p, v := range both {
			if s.At(p.From, p.To) != v {
				t.Errorf("at %v: %v, want %v", p, s.At(p.From, p.To), v)
			}
		}
		total := m.Total()
		same(t, "total", total.times(2), s.Total())
		if s.Len() != len(both) {
			t.Errorf("Len is %d of %d", s.Len(), len(both))
		}
		sent, received := lineSums(s)
		same(t, "lines", sent, received)
	})
}

// TestMergeLaws checks that merging is associative and commutative, and that an
// empty matrix changes nothing.
func TestMergeLaws(t *testing.T) {
	merged := func(all ...*Matrix) *Matrix {
		sum := new(Matrix)
		for _, m := range all {
			sum.Merge(m)
		}
		return sum
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, in := randomMatrix(r)
		b, inB := randomMatrix(r)
		c, inC := randomMatrix(r)
		for _, more := range []spread{inB, inC} {
			for p, v := range more {
				in.add(p, v)
			}
		}
		same(t, "associative", in, entries(merged(merged(a, b), c)))
		same(t, "associative", in, entries(merged(a, merged(b, c))))
		same(t, "commutative", in, entries(merged(c, b, a)))
		same(t, "neutral", entries(a), entries(merged(new(Matrix), a, new(Matrix))))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestVectorKeepsItsOrder(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		var x vector
		want := map[int32]Volume{}
		for range r.IntN(300) {
			at, v := r.Int32N(40), randomVolume(r)
			x.add(at, v)
			sum := want[at]
			sum.Add(v)
			want[at] = sum
		}
		x.settle()
		if !slices.IsSortedFunc(x.indices, cmp.Compare[int32]) || len(x.indices) != len(want) || x.sorted != len(x.indices) {
			t.Fatalf("seed %d: %v", seed, x.indices)
		}
		for at, v := range want {
			if got, ok := x.get(at); !ok || got != v {
				t.Fatalf("seed %d: at %d: %v, want %v", seed, at, got, v)
			}
		}
	}
}

package matrix

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// memoryFile is a ScratchFile in memory.
type memoryFile struct {
	content []byte
	room    int // bytes after which it is full; 0 is no limit
}

func (f *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	end := int(at) + len(p)
	if f.room > 0 && end > f.room {
		return 0, errors.New("no space left on device")
	}
	if n := end - len(f.content); n > 0 {
		f.content = append(f.content, make([]byte, n)...)
	}
	return copy(f.content[at:], p), nil
}

func (f *memoryFile) ReadAt(p []byte, at int64) (int, error) {
	if at >= int64(len(f.content)) {
		return 0, io.EOF
	}
	n := copy(p, f.content[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// scattered returns a matrix of which each entry was added in two parts, in random order.
func scattered(r *rand.Rand, s *Scratch) (*Matrix, spread) {
	m, want := new(Matrix), spread{}
	m.Spill(s)
	const ranks = 3000
	for range 40_000 {
		p := Pair{r.IntN(ranks), r.IntN(ranks)}
		want.add(p, Volume{1 << r.IntN(60), 3})
	}
	for _, part := range []uint64{1, 2} {
		for p, v := range want {
			first := Volume{v.Bytes / 3, 1}
			if part == 2 {
				v.Subtract(first)
				first = v
			}
			m.Add(p, first)
		}
	}
	return m, want
}

// TestScratch has many runs of many rows, each longer than what is read at a time.
func TestScratch(t *testing.T) {
	testenv.At(t, testenv.Quick)
	r := rand.New(rand.NewPCG(2, 3))
	file := new(memoryFile)
	s := NewScratch(500_000, func() (ScratchFile, error) { return file, nil })
	m, want := scattered(r, s)
	if len(m.runs) < 5 || len(m.runs[0].index) < 5 || len(file.content) < 4*scratchPiece {
		t.Fatalf("%d runs, %d bytes: too few to test anything", len(m.runs), len(file.content))
	}
	same(t, "All", want, entries(m))
	for p, v := range want {
		if m.At(p.From, p.To) != v {
			t.Fatalf("at %v: %v, want %v", p, m.At(p.From, p.To), v)
		}
	}
	half := new(Matrix) // in memory
	for p, v := range want {
		if (p.From+p.To)%2 == 0 {
			half.Add(p, v)
		}
	}
	n := 0
	Differences(m, half, func(p Pair, v, w Volume) {
		if n++; (p.From+p.To)%2 == 0 || v != want[p] || w != (Volume{}) {
			t.Fatalf("%v: %v and %v", p, v, w)
		}
	})
	if n != len(want)-half.Len() {
		t.Errorf("%d differences, want %d", n, len(want)-half.Len())
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

// TestScratchFails checks that an error of the file is reported, and that reading ends.
func TestScratchFails(t *testing.T) {
	for name, file := range map[string]*memoryFile{"full at once": {room: 1}, "full later": {room: 200_000}} {
		s := NewScratch(500_000, func() (ScratchFile, error) { return file, nil })
		m, _ := scattered(rand.New(rand.NewPCG(2, 3)), s)
		m.Len()
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "write temporary file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := NewScratch(0, func() (ScratchFile, error) { return nil, errors.New("no directory") })
	m := new(Matrix)
	m.Spill(s)
	m.Add(Pair{1, 2}, Volume{3, 4})
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "create temporary file") {
		t.Error(err)
	}
	for _, left := range []int{0, 1, 70_000} {
		file := new(memoryFile)
		s := NewScratch(500_000, func() (ScratchFile, error) { return file, nil })
		m, _ := scattered(rand.New(rand.NewPCG(2, 3)), s)
		file.content = file.content[:left]
		m.Len()
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "read temporary file") {
			t.Errorf("truncated to %d bytes: %v", left, err)
		}
	}
}

func TestSplit(t *testing.T) {
	lines := []func(int) int{func(rank int) int { return rank / 4 }, func(rank int) int { return rank % 3 },
		func(rank int) int { return rank%5 - 1 }, func(rank int) int { return rank }}
	eachRandomMatrix(t, func(t *testing.T, r *rand.Rand, m *Matrix, want spread) {
		got := m.Split(lines...)
		for k, line := range lines {
			var s Split
			for p, v := range want {
				switch a, b := line(p.From), line(p.To); {
				case a < 0 || b < 0:
					s.Unknown.Add(v)
				case a == b:
					s.Within.Add(v)
				default:
					s.Between.Add(v)
				}
			}
			same(t, "Split", s, got[k])
		}
	})
}

func TestDropSelfOfRuns(t *testing.T) {
	eachRandomMatrix(t, func(t *testing.T, r *rand.Rand, m *Matrix, want spread) {
		for rank := range testRanks {
			delete(want, Pair{rank, rank})
		}
		m.DropSelf()
		same(t, "DropSelf", want, entries(m))
	})
}

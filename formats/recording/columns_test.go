package recording

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestColumns checks that fromColumns is the inverse of appendColumns, for any bytes, and
// that it returns an error for truncated input.
func TestColumns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		raw := make([]byte, random.IntN(3000))
		for i := range raw {
			if random.IntN(3) == 0 {
				raw[i] = byte(random.Uint32())
			}
		}
		var blocks []rowBlock
		for at := random.IntN(300); at+rowBytes <= len(raw); {
			b := rowBlock{at, 1 + random.IntN((len(raw)-at)/rowBytes)}
			if random.IntN(2) == 0 {
				clear(raw[at : at+rowBytes])
			}
			blocks = append(blocks, b)
			at = b.end() + random.IntN(200)
		}
		columns := appendColumns(nil, raw, blocks)
		got, err := fromColumns([]byte("before"), columns, len(raw))
		if err != nil || !bytes.Equal(got, append([]byte("before"), raw...)) {
			t.Fatalf("%d bytes with %v: %v", len(raw), blocks, err)
		}
		for range 30 {
			cut := random.IntN(len(columns))
			if got, err := fromColumns(nil, columns[:cut], len(raw)); err == nil || len(got) > len(raw) {
				t.Fatalf("%d of %d bytes: %d bytes, %v", cut, len(columns), len(got), err)
			}
		}
		if _, err := fromColumns(nil, append(columns, 0), len(raw)); err == nil {
			t.Fatal("a byte too many is not reported")
		}
	}
}

// FuzzColumns checks that there is no panic, and that no more is made than asked for.
func FuzzColumns(f *testing.F) {
	raw := sample().bytes()
	in := newFile(bytes.NewReader(raw), int64(len(raw)))
	testenv.NoError(f, in.open())
	f.Add(appendColumns(nil, raw, in.rowBlocks()), len(raw))
	f.Fuzz(func(t *testing.T, columns []byte, size int) {
		size = min(max(size, 0), 1<<16)
		if got, err := fromColumns(nil, columns, size); len(got) > size || err == nil && len(got) != size {
			t.Errorf("%d bytes of %d: %v", len(got), size, err)
		}
	})
}

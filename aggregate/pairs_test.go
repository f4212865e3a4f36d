package aggregate

import (
	"testing"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

func TestHeatmapBins(t *testing.T) {
	var m matrix.Matrix
	const n = 100 // makes 25 bins of 4 ranks
	for from := range n {
		m.Add(matrix.Pair{From: from, To: (from + 4) % n}, matrix.Volume{Bytes: 10, Messages: 1})
	}
	m.Add(matrix.Pair{From: 0, To: 99}, matrix.Volume{Bytes: 5, Messages: 1})
	h := newHeatmap(&m, n)
	if h.RanksPerBin != 4 || len(h.Bytes) != 25 {
		t.Fatalf("got %d ranks in a bin, %d bins", h.RanksPerBin, len(h.Bytes))
	}
	for i, row := range h.Bytes {
		for k, v := range row {
			want := uint64(0)
			switch {
			case k == (i+1)%25:
				want = 40
			case i == 0 && k == 24:
				want = 5
			}
			if v != want {
				t.Errorf("bin %d, %d has %d bytes, want %d", i, k, v, want)
			}
		}
	}
	for size, bins := range map[int]int{1: 1, 32: 32, 33: 17, 64: 32, 65: 22, 1000: 32} {
		if got := len(newHeatmap(new(matrix.Matrix), size).Bytes); got != bins {
			t.Errorf("%d ranks have %d bins, want %d", size, got, bins)
		}
	}
}

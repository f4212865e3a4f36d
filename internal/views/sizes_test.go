package views

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
)

// 63 and 64 bytes are in different bands, as are 1023 and 1024.
func TestBands(t *testing.T) {
	c := aggregate.CallSizes{Call: "Send"}
	for _, class := range []uint8{0, 6, 7, 10, 11, 64} {
		c.Sizes = append(c.Sizes, aggregate.SizeCount{SizeClass: class, Volume: matrix.Volume{Messages: 1}})
	}
	var got []uint64
	for k := range sizeBands {
		got = append(got, inBand(&c, k))
	}
	if diff := cmp.Diff([]uint64{1, 1, 2, 1, 0, 0, 0, 1}, got); diff != "" {
		t.Error(diff)
	}
}

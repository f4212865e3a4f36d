package table

import (
	"slices"
	"testing"

	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
)

// Whole files with a correct seal are not fuzzed: one flipped bit can make the
// Arrow library allocate as much memory as the bit says (for the number of
// fields, before it looks for the first), from which no program can recover.
// The readers of mpitrace's own parts are fuzzed separately.

// FuzzUnpack checks that packing and unpacking a result again gives the same
// result.
func FuzzUnpack(f *testing.F) {
	f.Add(packVector([]uint64{0, 1000, 1 << 63, 1<<64 - 1}), 4)
	f.Add(packKeys(tabletest.Profile("run", 0).Rows), 5*len(tabletest.Profile("run", 0).Rows))
	f.Add(packVector([]uint64{profile.StackSite, 2, 5, 6, profile.StackSite | 1, 0}), 6)
	f.Add(packVector([]uint64{7, 1 << 63, 5}), 3)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		values, err := unpackVector(data, n)
		if err != nil {
			return
		}
		again, err := unpackVector(packVector(values), n)
		if err != nil || !slices.Equal(values, again) {
			t.Errorf("%d values read back as %d: %v", len(values), len(again), err)
		}
		unpackStacks(&packed{n, data})
	})
}

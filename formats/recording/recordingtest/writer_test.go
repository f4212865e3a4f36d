package recordingtest

import "testing"

// A table of 256 rows is as the library makes it: full at 240.
func TestCapacity(t *testing.T) {
	for rows, want := range map[int]uint64{0: 256, 239: 256, 240: 512, 479: 512, 480: 1024} {
		if got := capacityFor(rows); got != want {
			t.Errorf("%d rows: a table of %d, want %d", rows, got, want)
		}
	}
}

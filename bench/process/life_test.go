package process

import (
	"io"
	"os"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// What a process holds does not depend on the world's size, nor on how often it
// makes a communicator; a recording comes home small. Bounds in KiB: a rank that
// talks with 26 others holds less than 1 MiB, of which its own (without the
// library's file, which processes share) is a table of 512 rows that had 256
// before (48), a log (20), and what is allocated; what is left is margin.
func TestLives(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "mpicc.mpich", "cc")
	dir := t.TempDir()
	if err := os.CopyFS(dir, sources); err != nil {
		t.Fatal(err)
	}
	all, err := measureLives(t.Context(), dir, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	type key struct {
		what     string
		n, world int
	}
	found := map[key]life{}
	for _, l := range all {
		found[key{l.what, l.n, l.world}] = l
	}
	for k, most := range map[key]struct{ own, packed int }{
		{"halo", 26, 27}:             {256, 16},
		{"halo", 26, 100_000}:        {256, 16},
		{"halo", 26, 1_000_000}:      {256, 16},
		{"shuffled", 26, 100_000}:    {256 + 400, 400},    // 4 bytes a member, once
		{"peers", 1_000, 100_000}:    {136 + 2*128, 64},   // 64 bytes a row, as in the next line
		{"peers", 10_000, 100_000}:   {256 + 4*1024, 640}, // 64 bytes a row, of at least 1/4 full tables and those outgrown
		{"dups", 10_000, 100_000}:    {192, 4},
		{"requests", 1_000_000, 100}: {1024, 4}, // what a million in flight took is given back
		{"threads", 1_000, 100}:      {192, 4},
		{"together", 64, 100}:        {192 + 64*28, 16}, // a table of 256 rows each, and 8 that it has used of its stack
	} {
		l, ok := found[k]
		if !ok {
			t.Errorf("%+v is not measured", k)
			continue
		}
		t.Logf("%+v: %+v, recording %d", k, l.held, l.recorded)
		if l.held.own > most.own || l.recorded > int64(most.packed)<<10 {
			t.Errorf("%+v: %d KiB of its own, at most %d; recording %d bytes, at most %d KiB", k, l.held.own, most.own, l.recorded, most.packed)
		}
	}
	if l := found[key{"halo", 26, 100_000}]; l.held.resident > 1024+128 { // pages of files come 16 at a time
		t.Errorf("%d KiB are resident", l.held.resident)
	}
}

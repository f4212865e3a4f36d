package process

import (
	"io"
	"os"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestLives checks that the memory of a process depends neither on the world's
// size nor on how often it makes a communicator, and that packed recordings are
// small. Bounds are in KiB. A rank with 26 peers holds about 1 MiB more, most of
// which is the library's file, which processes share. Its own part consists of the
// library's symbol table, whose pages are copied when names are hidden (100), a
// table of 512 rows that grew from 256 rows (48), a log (20), the recording (64),
// and what it allocates; the rest of the bound is margin.
func TestLives(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "mpicc.mpich", "cc")
	dir := t.TempDir()
	testenv.NoError(t, os.CopyFS(dir, sources))
	all, err := measureLives(t.Context(), dir, io.Discard, io.Discard)
	testenv.NoError(t, err)
	type key struct {
		what     string
		n, world int
	}
	found := map[key]life{}
	for _, l := range all {
		found[key{l.what, l.n, l.world}] = l
	}
	const symbols = 100
	for k, most := range map[key]struct{ own, packed int }{
		{"halo", 26, 27}:             {256, 16},
		{"halo", 26, 100_000}:        {256, 16},
		{"halo", 26, 1_000_000}:      {256, 16},
		{"shuffled", 26, 100_000}:    {256 + 400, 400},    // 4 bytes per member, once
		{"peers", 1_000, 100_000}:    {192 + 2*128, 64},   // 64 bytes per row, as in the next line
		{"peers", 10_000, 100_000}:   {256 + 4*1024, 640}, // 64 bytes per row, with tables at least 1/4 full, and the outgrown tables
		{"dups", 10_000, 100_000}:    {192, 4},
		{"requests", 1_000_000, 100}: {1024, 4}, // the memory for a million pending requests is freed
		{"threads", 1_000, 100}:      {256, 4},
		{"together", 64, 100}:        {192 + 64*28, 16}, // per thread a table of 256 rows, and 8 KiB of its stack
	} {
		l, ok := found[k]
		if !ok {
			t.Errorf("%+v is not measured", k)
			continue
		}
		t.Logf("%+v: %+v, recording %d", k, l.held, l.recorded)
		if l.held.own > symbols+most.own || l.recorded > int64(most.packed)<<10 {
			t.Errorf("%+v: %d KiB of its own, at most %d; recording %d bytes, at most %d KiB", k, l.held.own, symbols+most.own, l.recorded, most.packed)
		}
	}
	if m := found[key{"halo", 26, 100_000}].held; m.library < 64 || m.own+m.library > 1024+128 {
		t.Errorf("%d KiB of its own and %d KiB of the library's file are resident", m.own, m.library)
	}
}

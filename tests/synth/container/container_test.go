package container

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A thousand ranks with up to 26 neighbours take at most 0.84 MB, as much as their merged
// table.
func TestSize(t *testing.T) {
	j := synth.NewStencil(1000)
	path := filepath.Join(t.TempDir(), "job.node")
	testenv.NoError(t, Write(path, j, 0, j.Ranks, nil))
	info, err := os.Stat(path)
	testenv.NoError(t, err)
	if info.Size() > 840_000 {
		t.Errorf("%d bytes", info.Size())
	}
	c, err := recording.OpenContainer(path)
	testenv.NoError(t, err)
	defer c.Close()
	for rank := 0; rank < j.Ranks; rank += 37 {
		p, err := recording.ReadFile(filepath.Join(path, c.Heads()[rank].Name))
		if err != nil || len(p.Problems) > 0 || len(p.Rows) != len(j.Profile(rank).Rows) {
			t.Errorf("rank %d: %v, %v", rank, p, err)
		}
	}
}

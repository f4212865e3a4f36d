package main

import (
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/synth/container"
)

// TestDecodedOnce requires that each recording is decoded once, also if call sites are
// selected, whose names must be known before.
func TestDecodedOnce(t *testing.T) {
	const ranks = 60
	t.Chdir(t.TempDir())
	dir, err := rundir.CreateAt("run")
	if err == nil {
		job := synth.NewStencil(ranks)
		job.PerNode = 20
		err = container.WriteAll(dir.Recordings(), job, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run"}, {"--callsite", "stencil+0x401500", "--force", "run"}} {
		before := recording.Decodes()
		_, stderr, err := runCommand(args...)
		if n := recording.Decodes() - before; n != ranks || err != nil {
			t.Errorf("%q: %d recordings were decoded, want %d; %v\n%s", args, n, ranks, err, stderr)
		}
	}
}

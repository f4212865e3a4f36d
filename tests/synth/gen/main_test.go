package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/readback"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func gen(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	testenv.NoError(t, generate(append(args, "-o", dir), io.Discard))
	return dir
}

// TestRecordings reads a run directory as one job, in which the received volume
// must equal the sent one.
func TestRecordings(t *testing.T) {
	for _, format := range []string{"recording", "container"} {
		t.Run(format, func(t *testing.T) { testRecordings(t, format) })
	}
}

func testRecordings(t *testing.T, format string) {
	dir := gen(t, "-shape", "stencil", "-ranks", "130", "-per-node", "13", "-format", format)
	if n := len(rundir.Dir(dir).Containers()); n != map[string]int{"container": 10}[format] {
		t.Errorf("%d containers", n)
	}
	found, err := source.Open([]string{dir}, source.Options{Depth: source.Heads})
	if err != nil || len(found.Damage()) > 0 || len(found.Jobs) != 1 {
		t.Fatalf("%d jobs, %v, %v", len(found.Jobs), found.Damage(), err)
	}
	job, err := aggregate.Of(found.Jobs[0], aggregate.Options{Keep: func(rank int) bool { return rank == 129 }})
	testenv.NoError(t, err)
	want := synth.NewStencil(130).TotalP2P()
	c := job.Conservation(aggregate.AllRanks)
	if c.Verdict != aggregate.Conserved || c.Sent.Bytes != want.Bytes || c.Sent.Messages != want.Messages {
		t.Errorf("%v, sent %+v, want %+v", c.Verdict, c.Sent, want)
	}
	if s, err := job.RankSummary(129); err != nil || s.Ranks[0].Host != "node0009" {
		t.Errorf("rank 129: %+v, %v", s, err)
	}
}

func TestBlocks(t *testing.T) {
	dir := gen(t, "-shape", "ring", "-ranks", "10", "-format", "arrow", "-block", "4")
	ranks := 0
	for _, name := range []string{"ring.0.arrow", "ring.4.arrow", "ring.8.arrow"} {
		ps, err := readback.Profiles(filepath.Join(dir, name))
		testenv.NoError(t, err)
		for _, p := range ps {
			if p.Rank != ranks {
				t.Errorf("%s: rank %d, want %d", name, p.Rank, ranks)
			}
			ranks++
		}
	}
	if ranks != 10 {
		t.Errorf("%d ranks", ranks)
	}
}

func TestOneProf(t *testing.T) {
	dir := gen(t, "-shape", "random", "-ranks", "40", "-format", "prof", "-block", "0", "-collectives=false", "-phases", "2")
	f, err := os.Open(filepath.Join(dir, "random.0.prof"))
	testenv.NoError(t, err)
	defer f.Close()
	traffic, err := prof.Read(f, f.Name())
	testenv.NoError(t, err)
	var sum synth.Volume
	for _, flow := range traffic.Flows {
		if flow.Kind != profile.External {
			t.Fatalf("a flow of kind %c", flow.Kind)
		}
		sum.Bytes += flow.Bytes
		sum.Messages += flow.Messages
	}
	once := synth.NewRandom(40, 16).TotalP2P()
	if want := (synth.Volume{Bytes: 2 * once.Bytes, Messages: 2 * once.Messages}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
}

// TestTraces reads a run directory of events as one trace per rank.
func TestTraces(t *testing.T) {
	dir := gen(t, "-format", "trace", "-shape", "halo", "-ranks", "6", "-per-node", "3", "-events", "10000")
	sources, err := export.Traces(rundir.Dir(dir))
	testenv.NoError(t, err)
	var events, sent uint64
	for _, src := range sources {
		err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
			events += uint64(e.Len())
			for _, kind := range e.Kind {
				if kinds[kind].Class == profile.P2P && kinds[kind].Direction == profile.Send {
					sent++
				}
			}
			return nil
		})
		testenv.NoError(t, err)
	}
	// On a grid of 2 x 3 ranks each has 4 neighbours: 6 x 18 events per step.
	// 93 steps with Init and Finalize are the first to have 10,000 events.
	if len(sources) != 6 || events != 93*108+12 || sent != 93*24 || sources[3].Trace().Host != "node0001" {
		t.Errorf("%d ranks, %d events, %d sent", len(sources), events, sent)
	}
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"-shape", "cube", "-o", dir}, {"-ranks", "0", "-o", dir}, {"-format", "xml", "-o", dir}, {"-block", "-1", "-o", dir}, {"-ranks", "4"},
		{"-format", "trace", "-o", dir},
	} {
		if err := generate(args, io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v was written, %v", entries, err)
	}
}

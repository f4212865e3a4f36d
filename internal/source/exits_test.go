package source

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A profile contains how its process ended, from run.json.
func TestExits(t *testing.T) {
	d := runs.New(t)
	const at = 1700000000_123456789
	info := &rundir.Info{Processes: []rundir.Process{
		{Host: "n1", Pid: 1, Recording: "n1-1-1.rec", Exit: profile.Exit{At: at, Known: true, Status: 5}},
		{Host: "n1", Pid: 2, Recording: "n1-2-1.rec", Exit: profile.Exit{At: at, Known: true, Signal: 9}},
		{Host: "n1", Pid: 3, Recording: "n1-3-1.rec", Exit: profile.Exit{At: at}},
	}}
	testenv.NoError(t, d.WriteInfo(info))
	want := []profile.Exit{{At: at, Known: true, Status: 5}, {At: at, Known: true, Signal: 9}, {At: at}, {}}
	for rank := range want {
		name := "n1-" + string(rune('1'+rank)) + "-1.rec"
		p := &profile.Profile{Rank: rank, Size: len(want), State: profile.Running, Threads: 1, Run: "job"}
		recordingtest.Record(t, filepath.Join(d.Recordings(), name), p)
	}
	for _, depth := range []Depth{Heads, Whole} {
		run, err := Open([]string{string(d)}, Options{Depth: depth})
		testenv.NoError(t, err)
		var got []profile.Exit
		run.Each(func(p *profile.Profile) error {
			got = append(got, p.Exit)
			return nil
		})
		if !slices.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

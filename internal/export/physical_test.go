package export

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/readback"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// monitored returns a file of Open MPI's component. It names a communicator in
// a way that no reader can parse.
func monitored(lines string) string {
	return "# POINT TO POINT\n" + lines + "# OSC\n# COLLECTIVES\nD\t(null)\tprocs: (null)\nO2A\t-1\t0 bytes\t0 msgs sent\n"
}

// physicalOf opens a run directory of one job and returns the messages that the
// library sent, by rank.
func physicalOf(t *testing.T, d rundir.Dir) (out []*profile.Physical) {
	t.Helper()
	run, err := source.Open([]string{string(d)}, source.Options{Depth: source.Whole})
	if err != nil || len(run.Jobs) != 1 {
		t.Fatalf("%v, %v", run, err)
	}
	testenv.NoError(t, run.Each(func(p *profile.Profile) error { out = append(out, p.Physical); return nil }))
	return out
}

func TestPhysical(t *testing.T) {
	d, err := rundir.Share(t.TempDir())
	testenv.NoError(t, err)
	for r := range 8 {
		p := jobs.Rank("a", r, int64(1+r))
		p.Size, p.Host, p.Pid = 8, "h", 100+r
		p.State = profile.Finalized
		if r == 6 {
			p.State = profile.Running
		}
		recordingtest.Record(t, filepath.Join(d.Recordings(), fmt.Sprintf("h-%d-1.rec", p.Pid)), p)
	}
	if got := physicalOf(t, d); !slices.Equal(got, make([]*profile.Physical, 8)) {
		t.Errorf("nobody asked, and it says %v", got)
	}
	testenv.NoError(t, d.PreparePhysical())
	for name, text := range map[string]string{
		"h-100-1.0.prof":   monitored("E\t0\t1\t7 bytes\t1 msgs sent\t0,0,0,2\nI\t0\t2\t6 bytes\t2 msgs sent\t0,0,2\nI\t0\t1\t5 bytes\t1 msgs sent\n"),
		"h-101.1.prof":     monitored(""), // a process that read its settings early
		"h-102-1.2.prof":   "# POINT TO POINT\nE\t2\t1\t7 bytes\t1 msgs sent\t0,0",
		"h-103-1.3.prof":   monitored("E\t2\t1\t7 bytes\t1 msgs sent\n"),
		"h-104-1.4.prof":   monitored("X\t4\t1\n"),
		"h-105-9.5.prof":   monitored(""), // of another process of that number
		"h-106-1.6.prof":   monitored(""), // that did not come to its end
		"inherited.7.prof": monitored(""),
		"h-107-1.0.prof":   monitored(""),
	} {
		testenv.WriteFile(t, filepath.Join(d.Physical(), name), text)
	}
	known := []*profile.Physical{{Flows: []profile.Flow{
		{Kind: profile.External, From: 0, To: 1, Bytes: 7, Messages: 1},
		{Kind: profile.Internal, From: 0, To: 1, Bytes: 5, Messages: 1},
		{Kind: profile.Internal, From: 0, To: 2, Bytes: 6, Messages: 2, Histogram: &profile.Histogram{2: 2}},
	}}, {}}
	got := physicalOf(t, d)
	if diff := cmp.Diff(known, got[:2]); diff != "" {
		t.Errorf("ranks 0 and 1 (-want +got):\n%s", diff)
	}
	for i, want := range []string{"h-102-1.2.prof is cut off", "messages from 2 to 1, but belongs to rank 3 of 8", "h-104-1.4.prof:2: ",
		"wrote no file for them", "did not reach MPI_Finalize", "wrote no file for them"} {
		if p := got[2+i]; p == nil || p.Flows != nil || !strings.Contains(p.Unknown, want) {
			t.Errorf("rank %d: got %+v, want %q", 2+i, p, want)
		}
	}
	checkMergedPhysical(t, d, got)
}

// checkMergedPhysical checks that the merged file keeps them when the files are
// gone, and that files that come later are merged.
func checkMergedPhysical(t *testing.T, d rundir.Dir, want []*profile.Physical) {
	t.Helper()
	run, err := source.Open([]string{string(d)}, source.Options{Depth: source.Whole})
	if err == nil {
		err = Merge(d, run, nil, &rundir.Info{ExitStatus: new(int)}, trace.EstimateClocks)
	}
	if err != nil || d.Stale() {
		t.Fatalf("stale %v, %v", d.Stale(), err)
	}
	ps, err := readback.Profiles(d.Profile())
	testenv.NoError(t, err)
	for r, p := range ps {
		if diff := cmp.Diff(want[r], p.Physical, cmpopts.IgnoreFields(profile.Flow{}, "Histogram")); diff != "" { // no table has it
			t.Errorf("rank %d, merged (-want +got):\n%s", r, diff)
		}
	}
	info, err := os.Stat(d.Info())
	testenv.NoError(t, err)
	late := filepath.Join(d.Physical(), "h-107-1.7.prof")
	testenv.WriteFile(t, late, monitored(""))
	after := info.ModTime().Add(1e9)
	if err := os.Chtimes(late, after, after); err != nil || !d.Stale() {
		t.Errorf("a file that came later: stale %v, %v", d.Stale(), err)
	}
}

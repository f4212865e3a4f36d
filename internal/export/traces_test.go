package export

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// traced returns a run directory with traces of these ranks, with one call each.
func traced(t *testing.T, ranks ...int) rundir.Dir {
	t.Helper()
	d := rundir.Dir(filepath.Join(t.TempDir(), "run [1]")) // as if it were a pattern
	testenv.Mkdir(t, string(d))
	for _, rank := range ranks {
		p := jobs.NewProcess("run", rank, 12)
		p.Add(jobs.Call("Barrier", int64(rank), int64(rank)+1))
		testenv.NoError(t, atomicfile.Write(d.TraceFile(rank), func(w io.Writer) error { return tracefile.Write(w, p) }))
	}
	return d
}

func TestTraces(t *testing.T) {
	d := traced(t, 10, 0, 9)
	for _, other := range []string{"trace.x.arrow", "trace.01.arrow", "trace.arrow", "profile.arrow"} {
		testenv.WriteFile(t, filepath.Join(string(d), other), "")
	}
	traces, err := Traces(d)
	testenv.NoError(t, err)
	var ranks []int
	for _, trace := range traces {
		ranks = append(ranks, trace.Trace().Rank)
		err := trace.Each(func(e *profile.Events, kinds []profile.EventKind) error {
			if e.Start[0] != int64(trace.Trace().Rank) || kinds[e.Kind[0]].Call != "Barrier" {
				t.Errorf("rank %d has a %v at %d", trace.Trace().Rank, kinds, e.Start[0])
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(ranks, []int{0, 9, 10}) {
		t.Errorf("the ranks are %v", ranks)
	}
}

func TestTracesSayWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, d rundir.Dir) error
		want  string
	}{
		"not traced": {func(_ *testing.T, d rundir.Dir) error {
			return errors.Join(os.Remove(d.TraceFile(1)), d.WriteInfo(new(rundir.Info)))
		}, "mpitrace run --trace"},
		"cut off":          {func(_ *testing.T, d rundir.Dir) error { return os.Truncate(d.TraceFile(1), 100) }, "trace.1.arrow: truncated after 100 bytes"},
		"of another rank":  {func(_ *testing.T, d rundir.Dir) error { return os.Rename(d.TraceFile(1), d.TraceFile(2)) }, "trace.2.arrow: it belongs to rank 1"},
		"not to be opened": {func(_ *testing.T, d rundir.Dir) error { return os.Symlink("none", d.TraceFile(0)) }, "trace.0.arrow"},
	} {
		t.Run(name, func(t *testing.T) {
			d := traced(t, 1)
			testenv.NoError(t, c.spoil(t, d))
			if _, err := Traces(d); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

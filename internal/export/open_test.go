package export

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// Readings of variables are merged if there are any, and are read back when the
// recordings are gone.
func TestMergeReadings(t *testing.T) {
	for name, ps := range map[string][]*profile.Profile{"read": jobs.Readings("a"), "not read": jobs.Full("a")} {
		t.Run(name, func(t *testing.T) {
			d := runs.New(t)
			for _, p := range ps {
				p.Rows, p.Vectors, p.Abnormal = nil, nil, nil // not all of the fixture's are what recordings hold
				recordingtest.Record(t, filepath.Join(d.Recordings(), fmt.Sprintf("%d.rec", p.Rank)), p)
			}
			first := merged(t, d)
			if (first != nil) != (name == "read") {
				t.Fatalf("%d bytes of readings", len(first))
			}
			testenv.NoError(t, os.RemoveAll(d.Recordings()))
			if again := merged(t, d); !bytes.Equal(first, again) {
				t.Errorf("%d bytes of readings once the recordings are gone, %d before", len(again), len(first))
			}
		})
	}
}

// merged merges a run and returns its pvars.arrow; nil if there is none.
func merged(t *testing.T, d rundir.Dir) []byte {
	t.Helper()
	run, err := source.Open([]string{string(d)}, source.Options{Depth: source.Whole})
	if err == nil {
		err = Merge(d, run, nil, new(rundir.Info), trace.EstimateClocks)
	}
	testenv.NoError(t, err)
	data, err := os.ReadFile(d.Pvars())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return data
}

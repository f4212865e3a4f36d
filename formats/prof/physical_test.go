package prof

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// A rank's file has the library's own messages beside the program's. They have
// a histogram if there is no E line with one: rank 0 sends point-to-point to 1
// and 3.
func TestInternalLines(t *testing.T) {
	p := jobs.Physical("run")[0]
	var text bytes.Buffer
	testenv.NoError(t, Write(&text, p.Traffic()))
	back, err := Read(&text, "x.prof")
	testenv.NoError(t, err)
	var own, rest []profile.Flow
	for _, f := range back.Flows {
		if f.Kind == profile.Internal {
			own = append(own, f)
		} else {
			rest = append(rest, f)
		}
	}
	want := append([]profile.Flow{}, p.Physical.Flows[2:]...)
	want[2].Histogram = nil
	if diff := cmp.Diff(want, own); diff != "" {
		t.Errorf("I lines (-want +got):\n%s", diff)
	}
	if p.Physical.Flows[4].Histogram == nil {
		t.Error("writing changed a histogram of the profile")
	}
	if diff := cmp.Diff(jobs.Full("run")[0].Traffic().Flows, rest); diff != "" {
		t.Errorf("the other lines (-without +with):\n%s", diff)
	}
}

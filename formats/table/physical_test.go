package table

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

// TestInternalRows checks that rows of messages of the MPI library itself count
// no calls, and are in no sum of another class or direction.
func TestInternalRows(t *testing.T) {
	type sums struct{ calls, messages, bytes uint64 }
	by := func(ps []*profile.Profile) (classes, directions map[string]sums) {
		classes, directions = map[string]sums{}, map[string]sums{}
		for _, p := range ps {
			for f := range Facts(p) {
				for of, key := range map[*map[string]sums]string{&classes: f.className(), &directions: f.directionName()} {
					s := (*of)[key]
					(*of)[key] = sums{s.calls + f.Calls, s.messages + f.Messages, s.bytes + f.Bytes}
				}
			}
		}
		return classes, directions
	}
	classes, directions := by(jobs.Physical("run"))
	want, wantDirections := by(jobs.Full("run"))
	// 80, 60 and 2^64-1 bytes in 10, 6 and 2^64-1 messages, modulo 2^64.
	want[Internal], wantDirections[Internal] = sums{0, 15, 139}, sums{0, 15, 139}
	for what, diff := range map[string]string{
		"classes":    cmp.Diff(want, classes, cmp.AllowUnexported(sums{})),
		"directions": cmp.Diff(wantDirections, directions, cmp.AllowUnexported(sums{})),
	} {
		if diff != "" {
			t.Errorf("sums by %s (-without +with):\n%s", what, diff)
		}
	}
}

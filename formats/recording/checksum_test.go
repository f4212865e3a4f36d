package recording

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// fileOf returns the file of a process that has ended, or that is still
// running.
func fileOf(t *testing.T, state profile.State) []byte {
	t.Helper()
	p := rich()
	p.State = state
	var b bytes.Buffer
	testenv.NoError(t, recordingtest.Write(&b, p))
	return b.Bytes()
}

// A flipped bit anywhere is detected in a recording of a process that ended.
func TestEveryFlippedBit(t *testing.T) {
	whole := fileOf(t, profile.Finalized)
	if p, err := Read(bytes.NewReader(whole), int64(len(whole))); err != nil || len(p.Problems) > 0 {
		t.Fatalf("whole: %v, %v", p, err)
	}
	for at := 0; at < len(whole); at += testenv.Step(17) {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << (at % 8)
		if p, err := Read(bytes.NewReader(flipped), int64(len(flipped))); err == nil && len(p.Problems) == 0 {
			t.Errorf("bit %d of byte %d was not missed", at%8, at)
		}
	}
}

// A change after the checksum was written is reported. A recording without a
// checksum has none to compare with.
func TestChecksum(t *testing.T) {
	for state, want := range map[profile.State]bool{profile.Finalized: true, profile.Running: false} {
		raw := fileOf(t, state)
		raw[len(raw)-1] ^= 1 // room in the last table
		p, err := Read(bytes.NewReader(raw), int64(len(raw)))
		testenv.NoError(t, err)
		if got := strings.Contains(strings.Join(p.Problems, "\n"), "byte 240: the checksum of the file is "); got != want {
			t.Errorf("%s: problems %q", state, p.Problems)
		}
	}
}

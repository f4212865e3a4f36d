package launch

import (
	"strings"
	"testing"
	"time"
)

// Of a build whose files take 4 s each, the 3rd, the 6th and so on end 12 s after the last line.
func TestBuildProgress(t *testing.T) {
	var log strings.Builder
	clock := time.Unix(0, 0)
	progress := buildProgress(&log, func() time.Time { return clock })
	for i := 1; i <= 9; i++ {
		clock = clock.Add(4 * time.Second)
		progress(i, 9)
	}
	if want := "mpitrace: 3 of 9 files compiled\nmpitrace: 6 of 9 files compiled\n"; log.String() != want {
		t.Errorf("got %q, want %q", log.String(), want)
	}
}

package launch

import (
	"fmt"
	"io"
	"time"
)

// progressEach is the time after which a build says how far it is.
const progressEach = 10 * time.Second

// buildProgress returns a function for interpose.BuildOptions.Progress. It prints a line if the last
// one, or the start, was progressEach ago: a build that takes seconds prints nothing.
func buildProgress(log io.Writer, now func() time.Time) func(compiled, files int) {
	printed := now()
	return func(compiled, files int) {
		if t := now(); t.Sub(printed) >= progressEach && compiled < files {
			printed = t
			fmt.Fprintf(log, "mpitrace: %d of %d files compiled\n", compiled, files)
		}
	}
}

package launch

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestRunStatus(t *testing.T) {
	for script, want := range map[string]Status{
		"exit 0":     {},
		"exit 7":     {Code: 7},
		"kill -9 $$": {Code: 137, Signal: syscall.SIGKILL},
		"trap '' INT; kill -INT $PPID; sleep 0.2; exit 4": {Code: 4},
	} {
		got, err := Run([]string{"sh", "-c", script}, os.Environ(), Streams{Err: os.Stderr}, never(t))
		if interrupted := !got.Interrupted.IsZero(); interrupted != strings.Contains(script, "INT") {
			t.Errorf("%s: interrupted %v", script, interrupted)
		}
		got.Interrupted = time.Time{}
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", script, got, err, want)
		}
	}
	if _, err := Run([]string{"/no/such"}, nil, Streams{}, never(t)); err == nil {
		t.Error("a command that does not exist was run")
	}
}

// never returns a late function for commands that end in time.
func never(t *testing.T) func() {
	return func() { t.Error("the command was taken for late") }
}

func TestRunPassesTerminationOnce(t *testing.T) {
	script := `n=0; trap 'n=$((n+1)); kill -TERM $PPID' TERM; kill -TERM $PPID; i=0; while [ $i -lt 30 ]; do sleep 0.01; i=$((i+1)); done; exit $n`
	got, err := Run([]string{"sh", "-c", script}, os.Environ(), Streams{}, never(t))
	if err != nil || got.Code != 1 {
		t.Errorf("got %v, %v; want the command to see one SIGTERM", got, err)
	}
}

// The child of a process that catches SIGINT must not inherit that it is caught
// or ignored.
func TestRunLeavesSignalsDefault(t *testing.T) {
	testenv.Need(t, "grep")
	var out strings.Builder
	_, err := Run([]string{"grep", "-E", "^Sig(Ign|Cgt)", "/proc/self/status"}, os.Environ(), Streams{Out: &out}, never(t))
	testenv.NoError(t, err)
	for line := range strings.Lines(out.String()) {
		var mask uint64
		name, hex, _ := strings.Cut(strings.TrimSpace(line), "\t")
		fmt.Sscanf(hex, "%x", &mask)
		if mask&(1<<(syscall.SIGINT-1)|1<<(syscall.SIGTERM-1)) != 0 {
			t.Errorf("%s %x has SIGINT or SIGTERM in it", name, mask)
		}
	}
}

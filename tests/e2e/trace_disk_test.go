package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestTraceFullDisk traces onto a disk that is too small for the events and for
// the trace made from them. When there is room again, collect must write the
// trace. collect and report must give the number of dropped events, which are
// all that the trace lacks.
func TestTraceFullDisk(t *testing.T) {
	const calls = 300_000 + 2 // with MPI_Init and MPI_Finalize; at 32 bytes each this is 9.2 MiB
	withEach(t, debian, func(t *testing.T, m implementation) {
		disk := testenv.SmallDisk(t, "4m")
		dir := filepath.Join(disk, "run")
		command := append([]string{mpitrace, "run", "--trace", "--trace-buffer", "1M", "--spool", "run", "-o", dir, "--"},
			m.launch(1, m.compile(t, "events"), fmt.Sprint(calls-2))...)
		out := execute(t, nil, command...)
		if out.code != 0 || !strings.Contains(out.stderr, "had no room") {
			t.Errorf("status %d\n%s", out.code, out.stderr)
		}
		if text, err := exec.Command("mount", "-o", "remount,size=64m", disk).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		collect := execute(t, nil, mpitrace, "collect", dir)
		report := succeed(t, nil, mpitrace, "report", "--full", dir)
		file, err := tracefile.Open(filepath.Join(dir, "trace.0.arrow"))
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out.stderr, collect.stderr)
		}
		written := file.Trace().Events
		if written == 0 || written >= calls {
			t.Fatalf("%d of %d events were written", written, calls)
		}
		want := text.CountOf(written, "event") + " of 1 process in trace.*.arrow; " + text.CountOf(calls-written, "other") + " had no room"
		for what, text := range map[string]string{"collect": collect.stderr, "report": report.stderr} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", what, want, text)
			}
		}
		lost := fmt.Sprintf("the trace lacks %s", text.CountOf(calls-written, "event"))
		for what, text := range map[string]string{"run": out.stderr, "report": report.stdout} {
			if !strings.Contains(text, lost) || strings.Contains(text, "nothing lost") || strings.Contains(text, "mpitrace run --trace") {
				t.Errorf("%s does not say %q, or advises what was done:\n%s", what, lost, text)
			}
		}
	})
}

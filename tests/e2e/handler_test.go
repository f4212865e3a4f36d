package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// TestThreadCancelled checks that MPI calls are not cancellation points, even
// when the library opens, writes and closes files in them. A thread that
// pthread_cancel ends must first make all its calls, and must not leave a lock
// held.
func TestThreadCancelled(t *testing.T) {
	const calls uint64 = 2 * 400 * 12
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "thread_cancelled")
		succeed(t, nil, m.launch(1, program)...)
		t.Run("rows", func(t *testing.T) {
			diff(t, "calls", calls, callsOf(m.run(t, 1, program).ranks[0], "Sendrecv"))
		})
		t.Run("no room", func(t *testing.T) {
			j := record(t, []string{"--max-mb", "1"}, m.launch(1, program)...)
			if j.code != 0 || !strings.HasPrefix(j.stdout, "ok\n") || !strings.Contains(j.stderr, "the recording of rank 0 cannot grow: ") {
				t.Errorf("status %d, output %q\n%s", j.code, j.stdout, j.stderr)
			}
			diff(t, "calls", calls, callsOf(j.ranks[0], "Sendrecv"))
		})
		t.Run("trace", func(t *testing.T) {
			_, traces := m.trace(t, 1, []string{"--spool", "run"}, program)
			diff(t, "events", calls, uint64(len(calledOf(t, traces[0], "Sendrecv", tagOf))))
		})
	})
}

// TestEndsInHandler ends the program in a signal handler that interrupts the
// library while it holds locks. What was recorded until then must be kept.
func TestEndsInHandler(t *testing.T) {
	// The signal comes when half of the smallest table is full. MPI_Init_thread
	// and MPI_Comm_dup have two of the rows. The interrupted send continues and
	// counts.
	const sends uint64 = layout.MinTableRows/2 - 2 + 1
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "ends_in_handler", "-rdynamic")
		t.Run("abort", func(t *testing.T) {
			j := record(t, nil, m.launch(1, program, "abort")...)
			diff(t, "sends", 100, callsOf(j.ranks[0], "Send"))
			abortedWith(t, j, 7, "handler")
		})
		t.Run("abort in a new thread", func(t *testing.T) {
			abortedWith(t, record(t, nil, m.launch(1, program, "thread")...), 9, "aborting")
		})
		t.Run("finalize", func(t *testing.T) {
			j := record(t, nil, m.launch(1, program, "finalize")...)
			if p := j.ranks[0]; j.code != 0 || j.stdout != "ok\n" || p.State != profile.Finalized || p.Losses.Calls != 1 {
				t.Errorf("status %d, output %q, %v, lost %+v\n%s", j.code, j.stdout, p.State, p.Losses, j.stderr)
			}
			diff(t, "sends", sends, callsOf(j.ranks[0], "Send"))
		})
		t.Run("finalize under the lock of the threads", func(t *testing.T) {
			j := record(t, nil, m.launch(1, program, "datatype")...)
			if p := j.ranks[0]; j.code != 0 || j.stdout != "ok\n" || p.State != profile.Finalized || p.Losses.Calls != 1 {
				t.Errorf("status %d, output %q, %v, lost %+v\n%s", j.code, j.stdout, p.State, p.Losses, j.stderr)
			}
			diff(t, "freed datatypes", 1, callsOf(j.ranks[0], "Type_free"))
		})
		t.Run("finalize with another tool", func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			libraries := m.library(t) + ":" + m.compile(t, "other_tool", "-DTOOL", "-shared", "-fPIC")
			out := succeed(t, nil, m.launch(1, preload(libraries, []string{"MPITRACE_DIR=" + dir}, program, "finalize")...)...)
			if out.stdout != "ok\n" || strings.Count(out.stderr, "tool: ") != 1 {
				t.Errorf("output %q\n%s", out.stdout, out.stderr)
			}
			diff(t, "sends", sends, callsOf(readRecordings(t, dir)[0], "Send"))
		})
	})
}

// abortedWith requires that rank 0 ended in MPI_Abort, called from this
// function.
func abortedWith(t *testing.T, j job, code int, function string) {
	t.Helper()
	if j.code == 0 {
		t.Errorf("exit status 0 of a job that was aborted\n%s", j.stderr)
	}
	ends := summaryOf(t, j.dir).Ends
	if len(ends) != 1 || len(ends[0].Calls) == 0 {
		t.Fatalf("no call is open: %+v", ends)
	}
	c := ends[0].Calls[len(ends[0].Calls)-1]
	if c.Call != "Abort" || c.ErrorCode == nil || int(*c.ErrorCode) != code || c.Communicator != "MPI_COMM_WORLD" ||
		c.Callsite == nil || c.Callsite.Function != function {
		t.Errorf("the last open call is %+v, want MPI_Abort(%d) of %s", c, code, function)
	}
}

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
)

// hanging is a job that does not end by itself.
type hanging struct {
	*exec.Cmd
	dir   string
	hydra bool // the launcher may exit with 0 after SIGTERM: see either
	said  *bytes.Buffer
}

// hang starts the program deadlock under `mpitrace run`.
func hang(t *testing.T, m implementation, mode string, flags ...string) *hanging {
	t.Helper()
	return hangIn(t, m, "deadlock", mode, flags...)
}

// hangIn starts a program of 4 ranks that hangs.
func hangIn(t *testing.T, m implementation, program, argument string, flags ...string) *hanging {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	h := &hanging{dir: filepath.Join(t.TempDir(), "run"), hydra: m.name == "mpich", said: new(bytes.Buffer)}
	command := slices.Concat([]string{"run", "-o", h.dir}, flags, []string{"--"}, m.launch(4, m.compile(t, program), argument))
	h.Cmd = exec.CommandContext(ctx, mpitrace, command...)
	h.Cancel = func() error { return h.Process.Signal(syscall.SIGTERM) }
	h.WaitDelay = 10 * time.Second
	h.Stdout, h.Stderr = h.said, h.said
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	return h
}

// timeOut ends the launcher with SIGTERM, as timeout(1) does.
func (h *hanging) timeOut(t *testing.T) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", h.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, thread := range threads {
		for child := range strings.FieldsSeq(string(readAll(t, thread))) {
			pid, err := strconv.Atoi(child)
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGTERM)
			}
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
	}
	if n != 1 {
		t.Fatalf("mpitrace has %d children, want the launcher", n)
	}
	if err := h.Wait(); err == nil && !h.hydra {
		t.Errorf("exit status 0 of a job that was ended\n%s", h.said)
	}
}

// await runs `mpitrace status` until a job's status satisfies as, and returns
// that status.
func (h *hanging) await(t *testing.T, as func(*aggregate.JobStatus) bool, what ...string) *aggregate.JobStatus {
	t.Helper()
	var last string
	for start := time.Now(); time.Since(start) < patience; time.Sleep(50 * time.Millisecond) {
		out, err := exec.Command(mpitrace, append([]string{"status", "--json"}, what...)...).Output()
		var got struct{ Jobs []*aggregate.JobStatus }
		if last = string(out); err == nil && json.Unmarshal(out, &got) == nil {
			for _, s := range got.Jobs {
				if as(s) {
					return s
				}
			}
		}
	}
	h.Process.Signal(syscall.SIGTERM)
	h.Wait()
	t.Fatalf("the ranks are not where they should be:\n%s\n%s", last, h.said)
	return nil
}

// line returns the number of the line of deadlock.c that ends with a comment.
func line(t *testing.T, comment string) int {
	t.Helper()
	for i, text := range strings.Split(string(readAll(t, filepath.Join(root, "tests", "programs", "deadlock.c"))), "\n") {
		if strings.HasSuffix(text, "// "+comment) {
			return i + 1
		}
	}
	t.Fatalf("no line with %q", comment)
	return 0
}

// at checks the call that a rank is in, and returns it.
func at(t *testing.T, ends []aggregate.End, rank int, call, function string, line int) aggregate.UnfinishedCall {
	t.Helper()
	i := slices.IndexFunc(ends, func(e aggregate.End) bool { return e.Rank == rank })
	if i < 0 || len(ends[i].Calls) != 1 {
		t.Fatalf("rank %d: want one call in flight: %+v", rank, ends)
	}
	c := ends[i].Calls[0]
	if c.Call != call || c.Callsite == nil || c.Callsite.Function != function || c.Callsite.Line != line {
		t.Errorf("rank %d is in MPI_%s at %v, want MPI_%s at %s, line %d", rank, c.Call, c.Callsite, call, function, line)
	}
	return c
}

// checkRecv checks the ranks of mode recv, while they hang and after their end:
// two ranks are in receives from each other, the others in a barrier.
func checkRecv(t *testing.T, ends []aggregate.End, deadlocks [][]int) {
	t.Helper()
	for rank, function := range []string{"left", "right"} {
		c := at(t, ends, rank, "Recv", function, line(t, fmt.Sprintf("of rank %d", rank)))
		if c.Peer != 1-rank || c.WorldPeer != 1-rank || c.Communicator != "MPI_COMM_WORLD" || c.Bytes == nil || *c.Bytes != 4 {
			t.Errorf("rank %d: %+v", rank, c)
		}
	}
	for rank := 2; rank < 4; rank++ {
		if c := at(t, ends, rank, "Barrier", "stand_by", line(t, "of the others")); c.Communicator != "MPI_COMM_WORLD" || c.Absent != "ranks 0-1" {
			t.Errorf("rank %d: %+v", rank, c)
		}
	}
	if len(deadlocks) != 1 || !slices.Equal(deadlocks[0], []int{0, 1}) {
		t.Errorf("deadlocks %v, want 0 and 1", deadlocks)
	}
}

// summaryOf returns the report of the only job of a run.
func summaryOf(t *testing.T, dir string) *aggregate.Summary {
	t.Helper()
	var got struct{ Jobs []*aggregate.Summary }
	if err := json.Unmarshal([]byte(succeed(t, nil, mpitrace, "report", "--json", dir).stdout), &got); err != nil || len(got.Jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(got.Jobs), err)
	}
	return got.Jobs[0]
}

func TestDeadlock(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		h := hang(t, m, "recv")
		s := h.await(t, func(s *aggregate.JobStatus) bool { return len(s.Deadlocks) > 0 && s.Running == 4 }, h.dir)
		checkRecv(t, s.Processes, s.Deadlocks)
		of := func(o *aggregate.JobStatus) bool { return o.Run == s.Run && o.Running == 4 }
		node := h.await(t, of, "--node")
		checkRecv(t, node.Processes, node.Deadlocks)
		for _, args := range [][]string{{h.dir}, {"--node"}} {
			text := succeed(t, []string{"LC_ALL=C.UTF-8"}, append([]string{mpitrace, "status"}, args...)...).stdout
			checkText(t, text)
		}
		checkFromOtherNamespace(t, h.dir)
		h.timeOut(t)
		if want := "Ranks 0-1 wait for each other in a ring. Rank 0 is in Recv at left deadlock.c:14."; !strings.Contains(h.said.String(), want) {
			t.Errorf("no %q in\n%s", want, h.said.String())
		}
		summary := summaryOf(t, h.dir)
		checkRecv(t, summary.Ends, summary.Deadlocks)
		checkText(t, succeed(t, nil, mpitrace, "report", "--full", h.dir).stdout)
	})
}

// checkFromOtherNamespace looks at 4 ranks that run from a namespace of process
// ids in which they are not visible. No recording may be moved meanwhile.
func checkFromOtherNamespace(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return // in CI, the tests run as root
	}
	there := []string{"unshare", "--pid", "--fork", "--mount-proc", mpitrace}
	text := succeed(t, nil, append(there, "status", dir)...).stdout
	if !strings.Contains(text, "4 not finalized and not visible from here") || strings.Contains(text, "ended") {
		t.Errorf("status from another namespace:\n%s", text)
	}
	out := execute(t, nil, append(there, "collect", dir)...)
	if text := succeed(t, nil, mpitrace, "status", dir).stdout; !strings.Contains(text, "4 running") {
		t.Errorf("after a collect from another namespace, %s%s, the status is\n%s", out.stdout, out.stderr, text)
	}
}

// checkText checks the output for people.
func checkText(t *testing.T, text string) {
	t.Helper()
	for _, want := range []string{
		"rank 0", fmt.Sprintf("MPI_Recv from 1 in MPI_COMM_WORLD, up to 4 B, at left deadlock.c:%d", line(t, "of rank 0")),
		"rank 1", fmt.Sprintf("MPI_Recv from 0 in MPI_COMM_WORLD, up to 4 B, at right deadlock.c:%d", line(t, "of rank 1")),
		"ranks 2-3", fmt.Sprintf("MPI_Barrier in MPI_COMM_WORLD, at stand_by deadlock.c:%d", line(t, "of the others")),
		"not there: ranks 0-1\n", "deadlock: ranks 0 and 1 wait for each other\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestHangInWait(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		h := hang(t, m, "wait")
		s := h.await(t, func(s *aggregate.JobStatus) bool {
			there := 0 // counts ranks in Waitall, and others that have left the call that makes the communicator
			for _, e := range s.Processes {
				if e.Rank > 1 && len(e.Calls) == 0 || len(e.Calls) == 1 && e.Calls[0].Call == "Waitall" {
					there++
				}
			}
			return there == 4 && s.Running == 4
		}, h.dir)
		checkWait(t, s.Processes)
		h.timeOut(t)
		checkWait(t, summaryOf(t, h.dir).Ends)
	})
}

// checkWait checks the ranks of mode wait. World ranks 0 and 1 have the ranks 3
// and 2 in the communicator.
func checkWait(t *testing.T, ends []aggregate.End) {
	t.Helper()
	for _, e := range ends {
		if e.Rank > 1 {
			if len(e.Calls) != 0 {
				t.Errorf("rank %d: in %+v, want outside MPI", e.Rank, e.Calls)
			}
			continue
		}
		if c := at(t, ends, e.Rank, "Waitall", "post_and_wait", line(t, "waits")); c.Requests != 2 {
			t.Errorf("rank %d waits for %d requests, want 2", e.Rank, c.Requests)
		}
		if len(e.OpenReceives) != 2 {
			t.Errorf("rank %d: open receives %+v, want 2", e.Rank, e.OpenReceives)
			continue
		}
		for _, r := range e.OpenReceives {
			peer, world, posted := 2+e.Rank, 1-e.Rank, line(t, "posts")
			if r.Callsite.Line != posted {
				peer, world, posted = profile.PeerAnySource, profile.PeerAnySource, line(t, "posts to anyone")
			}
			if r.Call != "Irecv" || r.Count != 1 || r.Peer != peer || r.WorldPeer != world || r.Callsite.Line != posted || !strings.HasPrefix(r.Communicator, "Comm_split#") {
				t.Errorf("rank %d: open receive %+v", e.Rank, r)
			}
		}
	}
}

func TestAborted(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		h := hang(t, m, "abort")
		if err := h.Wait(); err == nil {
			t.Errorf("exit status 0 of a job that was aborted\n%s", h.said)
		}
		ends := summaryOf(t, h.dir).Ends
		if c := at(t, ends, 0, "Abort", "main", line(t, "aborts")); c.ErrorCode == nil || *c.ErrorCode != 3 || ends[0].Rank != 0 {
			t.Errorf("rank %d comes first; rank 0 aborted with %+v", ends[0].Rank, c)
		}
		for rank := 1; rank < 4; rank++ {
			at(t, ends, rank, "Barrier", "stand_by", line(t, "of the others"))
		}
	})
}

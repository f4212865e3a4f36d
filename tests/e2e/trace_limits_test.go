package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// calledOf returns the result of get for each event of the calls with this
// name.
func calledOf[T any](t *testing.T, src profile.EventSource, call string, get func(e *profile.Events, i int) T) []T {
	t.Helper()
	var out []T
	err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		for i := range e.Start {
			if k := &kinds[e.Kind[i]]; k.Action == profile.Called && k.Call == call {
				out = append(out, get(e, i))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tagOf(e *profile.Events, i int) int32 { return e.Tag[i] }

// TestTraceLimits limits the size of traces. A trace must hold all events, or
// the first, or the last ones, and the others must be counted.
func TestTraceLimits(t *testing.T) {
	const sends = 100_000
	const calls = sends + 2 // with MPI_Init and MPI_Finalize
	const room = 4          // number of chunks in 1 MiB
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "events")
		for name, test := range map[string]struct {
			flags       []string
			least, most int // bounds of the number of events
			first, last int // expected tags of the first and last event; 0 for any
		}{
			"written out while it runs": {[]string{"--trace-buffer", "1M"}, calls, calls, 1, sends},
			"the first":                 {[]string{"--trace-limit", "1M"}, room * layout.ChunkEvents, room * layout.ChunkEvents, 1, 0},
			"the last":                  {[]string{"--trace-buffer", "1M", "--keep", "last"}, (room-1)*layout.ChunkEvents + 1, room * layout.ChunkEvents, 0, sends},
			"the last of more":          {[]string{"--trace-limit", "2M", "--keep", "last"}, (2*room-1)*layout.ChunkEvents + 1, 2 * room * layout.ChunkEvents, 0, sends},
		} {
			t.Run(name, func(t *testing.T) {
				j, traces := m.trace(t, 1, test.flags, program, fmt.Sprint(sends))
				if j.code != 0 {
					t.Fatalf("exit status %d\n%s", j.code, j.stderr)
				}
				trace := traces[0].Trace()
				if n := int(trace.Events); n < test.least || n > test.most || n+int(trace.Dropped) != calls {
					t.Errorf("%d events and %d dropped, want %d to %d of %d", n, trace.Dropped, test.least, test.most, calls)
				}
				if cut := trace.Events < calls; trace.Cut != cut {
					t.Errorf("cut: %t, want %t", trace.Cut, cut)
				}
				tags := calledOf(t, traces[0], "Send", tagOf)
				first, last := int(tags[0]), int(tags[len(tags)-1])
				if test.first != 0 && first != test.first || test.last != 0 && last != test.last || last-first+1 != len(tags) || !slices.IsSorted(tags) {
					t.Errorf("%d sends, of tags %d to %d, want from %d to %d, each once", len(tags), first, last, test.first, test.last)
				}
			})
		}
	})
}

// TestTraceGenerations checks that with --keep last the chunks of threads that
// have ended are given to threads that start later, even if there were more
// threads than chunks before.
func TestTraceGenerations(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		program := m.compile(t, "thread_generations")
		_, traces := m.trace(t, 1, []string{"--keep", "last", "--trace-buffer", "1M"}, program) // 4 chunks, one of which the main thread has
		diff(t, "sends", 3*100, len(calledOf(t, traces[0], "Send", tagOf)))
	})
}

// TestTraceSelected traces only some ranks, slices and classes of calls.
func TestTraceSelected(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		t.Run("ranks", func(t *testing.T) {
			j := record(t, []string{"--trace", "--ranks", "1,3-5"}, m.launch(4, m.compile(t, "collectives"))...)
			found, _ := filepath.Glob(filepath.Join(j.dir, "trace.*.arrow"))
			for i := range found {
				found[i] = filepath.Base(found[i])
			}
			diff(t, "files", []string{"trace.1.arrow", "trace.3.arrow"}, found)
		})
		t.Run("slices", func(t *testing.T) {
			_, traces := m.trace(t, 2, []string{"--trace-slices", "solve,7"}, m.compile(t, "phases"))
			sends := calledOf(t, traces[0], "Send", func(e *profile.Events, i int) uint64 { return e.Bytes[i] })
			diff(t, "bytes sent in solve and 7", []uint64{2, 8, 16, 128, 256}, sends)
		})
		t.Run("classes", func(t *testing.T) {
			_, traces := m.trace(t, 3, []string{"--trace-classes", "p2p"}, m.compile(t, "sendrecv"))
			traces[0].Each(func(e *profile.Events, kinds []profile.EventKind) error {
				for i := range e.Start {
					if k := &kinds[e.Kind[i]]; k.Class != profile.P2P {
						t.Errorf("an event of %s", k.Call)
					}
				}
				return nil
			})
			if !traces[0].Trace().Cut {
				t.Errorf("the trace does not say that it is not of all calls")
			}
		})
	})
}

// TestTracedKilled kills a rank with SIGKILL. Its trace must have each send
// that its rows have, with the possible exception of the last.
func TestTracedKilled(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir, n, talk := killSender(t, m, "--trace")
		src, err := tracefile.Open(filepath.Join(dir, "trace.1.arrow"))
		if err != nil {
			t.Fatalf("%v\n%s", err, talk)
		}
		sends := calledOf(t, src, "Send", func(e *profile.Events, i int) uint32 { return e.Seq[i] })
		if got := uint64(len(sends)); got != n && got != n+1 || uint64(sends[got-1]) != got {
			t.Errorf("%d sends, the last is number %d, want %d or one more", got, sends[len(sends)-1], n)
		}
		if src.Trace().State != profile.Running {
			t.Errorf("state %v, want running", src.Trace().State)
		}
	})
}

// TestTraceDamaged truncates a recording, or the events beside one. A message
// must name the file, the file must stay, and the other rank's events must be
// written all the same.
func TestTraceDamaged(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		for name, ending := range map[string]string{"recording": ".rec", "events": ".events"} {
			t.Run(name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "run")
				ranks := m.recordFiles(t, 2, dir, []string{"MPITRACE_TRACE=on"}, m.compile(t, "sends"))
				cut := strings.TrimSuffix(ranks[1].Source, ".rec") + ending
				if err := os.Truncate(cut, 100); err != nil {
					t.Fatal(err)
				}
				out := execute(t, nil, mpitrace, "report", "--full", dir)
				if !strings.Contains(out.stderr, filepath.Base(cut)) {
					t.Errorf("%q does not name %s", out.stderr, cut)
				}
				if src, err := tracefile.Open(filepath.Join(dir, "trace.0.arrow")); err != nil || src.Trace().Cut || src.Trace().Events == 0 {
					t.Errorf("the other rank: %v", err)
				}
				if src, err := tracefile.Open(filepath.Join(dir, "trace.1.arrow")); err == nil && !src.Trace().Gaps {
					t.Errorf("the trace does not say that it was cut: %+v", src.Trace())
				}
				if left, _ := filepath.Glob(filepath.Join(dir, "recordings", "*.events")); len(left) != 1 {
					t.Errorf("%q is left, want what could not be read", left)
				}
			})
		}
	})
}

// TestAnalyzeFirst analyzes a run whose ranks recorded themselves, and for
// which no report has been made yet.
func TestAnalyzeFirst(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		succeed(t, nil, m.launch(2, mpitrace, "run", "--trace", "-o", dir, "--", m.compile(t, "sends"))...)
		if out := execute(t, nil, mpitrace, "analyze", dir); out.code != 0 || !strings.Contains(out.stdout, "matched: 10 of 10 messages") { // nine to rank 1, one in return
			t.Errorf("status %d, stdout %s, stderr %s", out.code, out.stdout, out.stderr)
		}
	})
}

// TestAnalyzeRunning analyzes a running job, whose events are in two files
// already, and again after it was killed. The second analysis must have all
// events.
func TestAnalyzeRunning(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir, announced := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "announced")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		env := []string{"MPITRACE_DIR=" + dir, "MPITRACE_TRACE=on", "MPITRACE_TRACE_BUFFER=1M"}
		command := m.launch(2, preload(m.library(t), env, m.compile(t, "announce"), announced)...)
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.WaitDelay = 5 * time.Second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := awaitAnnounced(ctx, t, announced, 6*layout.ChunkEvents)
		first := analyzed(t, dir)
		awaitAnnounced(ctx, t, announced, 8*layout.ChunkEvents)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		n := uint64(len(readAll(t, announced)))
		if last := analyzed(t, dir); first.Sent < 6*layout.ChunkEvents || first.Sent > n || last.Sent != n && last.Sent != n+1 {
			t.Errorf("%d sends, later %d, want %d or one more", first.Sent, last.Sent, n)
		}
	})
}

func analyzed(t *testing.T, dir string) trace.Matching {
	t.Helper()
	var found trace.Result
	if err := json.Unmarshal([]byte(succeed(t, nil, mpitrace, "analyze", "--json", dir).stdout), &found); err != nil {
		t.Fatal(err)
	}
	return found.Matching
}

// TestTraceLimitOfThreads gives four threads less room for events than they
// need. Each sends itself 10,000 messages in 20,000 events. All messages that
// began before the first thread ran out of room must be matched: at least one
// chunk of that thread.
func TestTraceLimitOfThreads(t *testing.T) {
	const (
		chunks = 1 + 4*2 + 1 // one of the main thread; the events of the others need 9.8 chunks, however they are divided
		least  = layout.ChunkEvents / 2
	)
	withEach(t, debian, func(t *testing.T, m implementation) {
		limit := fmt.Sprintf("%dK", chunks*layout.ChunkSize/1024)
		j, traces := m.trace(t, 2, []string{"--trace-limit", limit}, m.compile(t, "threads"))
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s", j.code, j.stderr)
		}
		for _, src := range traces {
			if at := src.Trace(); at.Dropped == 0 || at.Gaps || at.WholeUntil <= at.InitEnd || at.WholeUntil >= at.FinalizeStart {
				t.Errorf("%+v: want events without room, and the time of the first", at)
			}
		}
		got := analyzed(t, j.dir)
		if got.Matched < 2*least || got.SizesDiffer > 0 {
			t.Errorf("%d of %d messages matched, %d of them of another size, want %d at least", got.Matched, got.Sent, got.SizesDiffer, 2*least)
		}
		for why, n := range got.UnmatchedSends {
			if why != trace.Gaps && why != trace.Cut {
				t.Errorf("%d sends: %s", n, why)
			}
		}
		if rest := got.UnmatchedSends[trace.Gaps] + got.UnmatchedSends[trace.Cut]; got.Matched+rest != got.Sent {
			t.Errorf("%d sends, %d matched, %d with a reason", got.Sent, got.Matched, rest)
		}
	})
}

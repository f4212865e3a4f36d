package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/profile"
)

// readerOf returns a reader of a run of some processes. It reads until the test ends.
func readerOf(t *testing.T, every time.Duration, matrix func(*aggregate.Job) any, profiles ...*profile.Profile) *Reader {
	t.Helper()
	dir, err := rundir.CreateAt(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		if err := recordingtest.WriteFile(filepath.Join(dir.Recordings(), fmt.Sprintf("%s-%d-%d.rec", p.Host, p.Pid, p.Rank)), p); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(dir, matrix)
	r.every = every
	go r.Run(t.Context())
	return r
}

// after returns the reading after a given one.
func after(t *testing.T, r *Reader, number uint64) *Snapshot {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	reading, err := r.After(ctx, number)
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

// TestSlowReading requires that a reading is shown although it took longer than two intervals.
func TestSlowReading(t *testing.T) {
	slow := func(*aggregate.Job) any { time.Sleep(300 * time.Millisecond); return nil }
	r := readerOf(t, 10*time.Millisecond, slow, stuck(0))
	if got := after(t, r, 0); got.Number != 1 || got.TookS < 0.3 {
		t.Errorf("reading %d took %v s", got.Number, got.TookS)
	}
	time.Sleep(100 * time.Millisecond)
	if got := after(t, r, 0); got.Number < 2 {
		t.Error("an old reading counts as fresh")
	}
}

// TestPanic requires that a panic becomes the problem of a reading.
func TestPanic(t *testing.T) {
	r := readerOf(t, time.Millisecond, func(*aggregate.Job) any { panic("no matrix") }, stuck(0))
	for number := range uint64(2) {
		if got := after(t, r, number); got.Problem != "read the recordings: internal error: no matrix" || got.Finished {
			t.Errorf("problem %q", got.Problem)
		}
	}
}

// TestCost requires that a reading does not pay for other goroutines.
func TestCost(t *testing.T) {
	start, stop := time.Now(), make(chan struct{}) // before the cost begins to count
	cost := startCost()
	defer close(stop)
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	time.Sleep(50 * time.Millisecond)
	if got := cost(); got > time.Since(start) {
		t.Errorf("cost %v", got)
	}
}

// TestEnd checks when a run has ended, and whether that is final.
func TestEnd(t *testing.T) {
	r := readerOf(t, time.Millisecond, nil, stuck(0))
	check := func(when string, info *rundir.Info, finished, final bool) {
		t.Helper()
		if gotFinished, gotFinal := r.end(info); gotFinished != finished || gotFinal != final {
			t.Errorf("%s: finished %v, final %v", when, gotFinished, gotFinal)
		}
	}
	status := 0
	check("a run that goes on", &rundir.Info{Start: time.Now()}, false, false)
	check("before the merge", &rundir.Info{Start: time.Now(), ExitStatus: &status}, false, false)
	check("without a merge", &rundir.Info{Start: time.Now().Add(-time.Minute), ExitStatus: &status}, true, false)
	opened, err := source.Open([]string{string(r.dir)}, source.Options{Depth: source.Whole})
	if err == nil {
		err = export.Merge(r.dir, opened, nil, &rundir.Info{ExitStatus: &status}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	check("after the merge", &rundir.Info{Start: time.Now(), ExitStatus: &status}, true, true)
	signal := make(chan struct{})
	r.Ended = signal
	check("before the command's signal", &rundir.Info{Start: time.Now().Add(-time.Minute), ExitStatus: &status}, false, false)
	close(signal)
	check("after the command's signal", &rundir.Info{}, true, true)
	r.Ended = make(chan struct{})
	if err := os.RemoveAll(string(r.dir)); err != nil {
		t.Fatal(err)
	}
	check("without its directory", &rundir.Info{}, true, true)
}

// TestReportError requires that the error of a report is kept if the run cannot change.
func TestReportError(t *testing.T) {
	s := serve(t, stuck(0))
	made := 0
	s.Report = func() (any, error) { made++; return nil, errors.New("no job") }
	if err := os.RemoveAll(string(s.dir)); err != nil {
		t.Fatal(err)
	}
	var reading Snapshot
	if err := json.Unmarshal([]byte(s.ask(s.with("/data"), nil).body), &reading); err != nil || !reading.Finished {
		t.Fatalf("%+v, %v", reading, err)
	}
	for range 3 {
		if got := s.ask(s.with("/report"), nil); got.body != `{"error":"no job"}` {
			t.Errorf("report %q", got.body)
		}
	}
	if made != 1 {
		t.Errorf("the report was made %d times", made)
	}
}

// TestIndex requires that a job keeps its index if the job before it cannot be read.
func TestIndex(t *testing.T) {
	r := readerOf(t, time.Millisecond, nil)
	r.matrix = func(j *aggregate.Job) any { return j.Run }
	now := &Snapshot{Number: 1, At: time.Now()}
	r.addJob(now, nil, 1, aggregate.NewJob(aggregate.Options{}))
	next := &Snapshot{Number: 2, At: time.Now()}
	r.addJob(next, now, 1, aggregate.NewJob(aggregate.Options{}))
	if next.Jobs[0].Index != 1 || next.Jobs[0].Matrices != 1 || string(next.sheets[0].packed().plain) != `""` {
		t.Errorf("%+v", next.Jobs[0])
	}
}

// TestLazyClient requires that a client that does not read its answer holds up nobody.
func TestLazyClient(t *testing.T) {
	s := serve(t, stuck(0))
	large := make([]byte, 48<<20)
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	s.Pairs = func(int, profile.RankSet, profile.RankSet) (any, error) { return large, nil } // base64
	lazy := s.dial()
	defer lazy.Close()
	fmt.Fprintf(lazy, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", s.with("/pair?from=0&to=1"), s.Host())
	head := make([]byte, 12)
	if _, err := io.ReadFull(lazy, head); err != nil || !bytes.Contains(head, []byte(" 200")) {
		t.Fatalf("%q, %v", head, err)
	}
	start := time.Now()
	got := s.ask(s.with("/events?from=0&to=1"), nil)
	if took := time.Since(start); !strings.Contains(got.body, "not traced") || took > 5*time.Second {
		t.Errorf("%+v after %v", got, took)
	}
}

// TestSlowAnswer requires an answer to a request that takes longer than a request may take to
// arrive.
func TestSlowAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 11 s")
	}
	t.Parallel()
	s := serve(t, stuck(0))
	begun, first := make(chan struct{}), make(chan answer, 1)
	s.Events = func(int, int64, int64) (any, error) {
		close(begun)
		time.Sleep(readTime + time.Second)
		return "calls", nil
	}
	go func() { first <- s.ask(s.with("/events?from=0&to=1"), nil) }()
	<-begun // the second waits for the first
	if got := s.ask(s.with("/pair?from=0&to=1"), nil); got.status != 200 || got.body == "" {
		t.Errorf("the second: %+v", got)
	}
	if got := <-first; got.status != 200 || got.body != `"calls"` {
		t.Errorf("the first: %+v", got)
	}
}

// TestReadingDecodesOnce requires that a reading decodes each recording once.
func TestReadingDecodesOnce(t *testing.T) {
	r := readerOf(t, time.Hour, func(*aggregate.Job) any { return nil }, stuck(0), stuck(1))
	after(t, r, 0)
	before := recording.Decodes()
	if got := r.read(nil); got.Problem != "" || len(got.Jobs) != 1 || recording.Decodes()-before != 2 {
		t.Errorf("%d recordings were decoded, want 2; %d jobs, %s", recording.Decodes()-before, len(got.Jobs), got.Problem)
	}
}

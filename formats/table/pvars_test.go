package table

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

func TestPvarColumns(t *testing.T) {
	var data bytes.Buffer
	testenv.NoError(t, WritePvars(&data, profile.List(jobs.Readings("run")[2:3])))
	// In a source of rank 2 only, it is the first process of the job.
	checkColumns(t, data.Bytes(), " ", map[string]string{
		"rank":      "2 2 2 2 2 2 2 2",
		"time_ns":   "1000000000 1998000000 2498000000 3998000000 3998000000 3998000000 3998000000 3998000000",
		"slice":     "run run solve solve solve solve solve solve",
		"moment":    "init slice free finalize finalize finalize finalize finalize",
		"name":      "queue queue queue bytes bytes balance share pml",
		"class":     "level level level counter counter level percentage generic",
		"binding":   "communicator communicator communicator none none none none none",
		"handle":    "0 0 5 1 1 2 3 4",
		"index":     "0 0 0 0 1 0 0 0",
		"value":     "0 20 3 1.152921504606847e+18 7 -2 0.25 (null)",
		"value_u64": "0 20 3 1152921504606846978 7 (null) (null) (null)",
		"value_i64": "(null) (null) (null) (null) (null) -2 (null) (null)",
		"text":      "(null) (null) (null) (null) (null) (null) (null) ob1",
	})
	p := jobs.Readings("run")[2]
	world, reversed := p.Comms[jobs.World].Label(), p.Comms[jobs.Reversed].Label()
	want := []string{world, world, reversed, "(null)", "(null)", "(null)", "(null)", "(null)"}
	if got := table(t, data.Bytes(), "object"); !slices.Equal(got, want) {
		t.Errorf("object: got %q, want %q", got, want)
	}
}

// TestPvarTimes checks that times count from the start of the first process of
// the same job.
func TestPvarTimes(t *testing.T) {
	two := jobs.Readings("two")
	for _, p := range two {
		p.Start += 7
		for i := range p.Readings {
			p.Readings[i].At += 10
		}
	}
	var data bytes.Buffer
	testenv.NoError(t, WritePvars(&data, append(profile.List(jobs.Readings("one")), two...)))
	got := table(t, data.Bytes(), "time_ns")
	for i := range 4 {
		if one := fmt.Sprint(1_000_000_000 + i*1_000_000); got[8*i] != one {
			t.Errorf("rank %d of one: %s, want %s", i, got[8*i], one)
		}
		if other := fmt.Sprint(1_000_000_003 + i*1_000_000); got[8*(4+i)] != other {
			t.Errorf("rank %d of two: %s, want %s", i, got[8*(4+i)], other)
		}
	}
}

// many is a source of processes with 1600 values each, made one at a time. It
// measures the memory in use.
type many struct {
	processes int
	peak      uint64
}

func (m *many) Each(f func(*profile.Profile) error) error {
	p := jobs.Readings("run")[1]
	p.Readings = slices.Repeat(p.Readings, 200)
	for rank := range m.processes {
		p.Rank = rank
		if err := f(p); err != nil {
			return err
		}
		if rank%20 == 19 {
			var now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&now)
			m.peak = max(m.peak, now.HeapAlloc)
		}
	}
	return nil
}

// TestPvarTableStreams checks that the memory does not grow with the number of
// processes, except for a full spool, whose buffer may be twice as large.
func TestPvarTableStreams(t *testing.T) {
	few, lots := &many{processes: 40}, &many{processes: 400}
	for _, src := range []*many{few, lots} {
		testenv.NoError(t, WritePvars(io.Discard, src))
	}
	if lots.peak > few.peak+2*uint64(spoolMemory) {
		t.Errorf("%d bytes in use with 640,000 values, %d with 64,000", lots.peak, few.peak)
	}
	t.Logf("%d bytes in use with 640,000 values, %d with 64,000", lots.peak, few.peak)
}

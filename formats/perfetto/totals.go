package perfetto

import (
	"encoding/json"
	"math"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
)

// TraceTotals are the numbers in the file's otherData: how much the trace contains,
// and how much of it was left out.
type TraceTotals struct {
	// StartNs is the time of ts 0 in Unix ns. It is written as a string,
	// because readers that use floating point would round it.
	StartNs int64  `json:"start_ns,string"`
	Start   string `json:"start"`

	Slices uint64 `json:"slices"`
	Calls  uint64 `json:"calls"` // number of calls in the slices
	// Messages counts the messages of the whole trace whose send and receive
	// were found. Arrows counts those that are drawn.
	Messages uint64 `json:"messages"`
	Arrows   uint64 `json:"arrows"`
	// Backward counts messages that were received before they were sent,
	// because clocks disagree. They have no arrow.
	Backward   uint64 `json:"backward_messages"`
	Unreceived uint64 `json:"unreceived_messages"` // sent, but not received in the trace
	Unsent     uint64 `json:"unsent_messages"`     // received, but not sent in the trace
	Samples    uint64 `json:"counter_samples"`

	// Calls of at least ShortestNs always have a slice of their own, and arrows
	// end in calls of at least ArrowsNs. 0 means all.
	ShortestNs int64 `json:"shortest_call_ns"`
	ArrowsNs   int64 `json:"shortest_receive_ns"`
}

func (t *timeline) totals() TraceTotals {
	return TraceTotals{
		StartNs: t.trace.start, Start: time.Unix(0, t.trace.start).UTC().Format(time.RFC3339Nano),
		Slices: t.slices, Calls: t.calls, Messages: t.messages, Arrows: t.flows, Backward: t.backward,
		Unreceived: uint64(len(t.sent)), Unsent: uint64(len(t.received)), Samples: t.samples,
		ShortestNs: t.shortest, ArrowsNs: t.arrows,
	}
}

// finish writes the remaining events and the end of the file. It writes no line end: Perfetto's
// importer may take a line end for the start of another JSON text.
func (t *timeline) finish() {
	t.countUntil(math.MaxInt64)
	for _, j := range t.jobs {
		t.lastSample(&j.inFlight)
	}
	for _, p := range t.processes {
		t.lastSample(&p.unreceived)
		for _, tr := range p.tracks {
			t.endRun(tr)
		}
	}
	totals, err := json.Marshal(t.totals())
	if err != nil && t.out.err == nil {
		t.out.err = err
	}
	t.out.line = append(t.out.line, "\n],\n\"otherData\":"...)
	t.out.line = append(append(t.out.line, text.JSON(totals)...), '}')
}

func (t *timeline) lastSample(c *counter) {
	if c.changed {
		t.sample(c)
	}
}

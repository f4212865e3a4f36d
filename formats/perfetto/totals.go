package perfetto

import (
	"encoding/json"
	"math"
	"time"

	"github.com/mpitrace/mpitrace/internal/text"
)

// Totals are what the file says of itself, as otherData: how much there is of
// everything, and what was left out.
type Totals struct {
	// StartNs is what ts 0 stands for, in Unix ns. Numbers of this size are not
	// exact where JSON is read into floating point, so it is text, and a date too.
	StartNs int64  `json:"start_ns,string"`
	Start   string `json:"start"`

	Slices uint64 `json:"slices"`
	Calls  uint64 `json:"calls"` // in the slices
	// Messages are those of the whole trace whose send and receive were found,
	// Arrows those of them that are drawn.
	Messages uint64 `json:"messages"`
	Arrows   uint64 `json:"arrows"`
	// Backward are messages that were received before they were sent, as clocks
	// disagree: an arrow would point nowhere.
	Backward   uint64 `json:"backward_messages"`
	Unreceived uint64 `json:"unreceived_messages"` // sent, and not received in the trace
	Unsent     uint64 `json:"unsent_messages"`     // received, and not sent in the trace
	Samples    uint64 `json:"counter_samples"`

	// ShortestNs is the shortest call that has a slice of its own whatever is
	// beside it, ArrowsNs the shortest that arrows end in. 0 where all are shown.
	ShortestNs int64 `json:"shortest_call_ns"`
	ArrowsNs   int64 `json:"shortest_receive_ns"`
}

func (t *timeline) totals() Totals {
	return Totals{
		StartNs: t.trace.start, Start: time.Unix(0, t.trace.start).UTC().Format(time.RFC3339Nano),
		Slices: t.slices, Calls: t.calls, Messages: t.messages, Arrows: t.flows, Backward: t.backward,
		Unreceived: uint64(len(t.sent)), Unsent: uint64(len(t.received)), Samples: t.samples,
		ShortestNs: t.shortest, ArrowsNs: t.arrows,
	}
}

// finish writes what is left, and the end of the file. No line end comes behind
// it: Perfetto's importer may take that for more than one JSON text.
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

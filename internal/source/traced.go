package source

import (
	"fmt"
	"path/filepath"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Traced is the result of converting the events of a run.
type Traced struct {
	Processes int
	Events    uint64
	Dropped   uint64               // number of events that were lost
	NoRoom    uint64               // of Dropped: events of processes that ran out of space
	Clocks    []*profile.JobClocks // of each job that has several clocks
	Damaged   []error              // events that cannot be read
	// Left maps recordings whose event files were kept to the number of events
	// that were converted. Their processes may still be running, or some events
	// are damaged.
	Left map[string]uint64

	Converted map[string]bool // file names of recordings whose events are all in traces
}

// noRoom is the reason for events that are missing in a trace.
const NoRoom = "had no room (a full disk, --trace-limit, --trace-buffer or --keep)"

// Text reports how many events were written, and how clocks were corrected.
func (t *Traced) Text() (lines []string) {
	for _, err := range t.Damaged {
		lines = append(lines, err.Error())
	}
	if t.Processes == 0 {
		if t.Dropped > 0 {
			lines = append(lines, text.CountOf(t.Dropped, "event")+" "+NoRoom)
		}
		return lines
	}
	dropped := ""
	if t.Dropped > 0 {
		dropped = fmt.Sprintf("; %s %s", text.CountOf(t.Dropped, "other"), NoRoom)
	}
	if t.Events == 0 && t.Dropped == 0 && len(t.Damaged) == 0 {
		dropped = ": --trace-slices and --trace-classes left out all calls"
	}
	lines = append(lines, fmt.Sprintf("%s of %s in trace.*.arrow%s", text.CountOf(t.Events, "event"), text.CountOf(t.Processes, "process"), dropped))
	for _, c := range t.Clocks {
		for _, line := range c.Lines() {
			lines = append(lines, text.Line(line))
		}
	}
	return lines
}

func (t *Traced) Add(of *profile.Trace) {
	t.Processes++
	t.Events += of.Events
	t.Drop(of)
}

func (t *Traced) Drop(of *profile.Trace) {
	t.Dropped += of.Dropped
	if of.NoRoom {
		t.NoRoom += of.Dropped
	}
}

// LeaveRest adds to Left the event files that belong to no job or cannot be
// read. They have been reported, and are not converted again until they have
// more events.
func (t *Traced) LeaveRest(files []string) {
	for _, file := range files {
		name := filepath.Base(file)
		if _, known := t.Left[name]; known || len(recording.EventFiles(file)) == 0 {
			continue
		}
		events, _ := recording.CountEvents(file)
		t.leave(name, events)
	}
}

// Finish notes whether all events of a recording are in a trace.
func (t *Traced) Finish(name string, events uint64, done bool) {
	if !done {
		t.leave(name, events)
		return
	}
	if t.Converted == nil {
		t.Converted = map[string]bool{}
	}
	t.Converted[name] = true
}

func (t *Traced) leave(name string, events uint64) {
	if t.Left == nil {
		t.Left = map[string]uint64{}
	}
	t.Left[name] = events
}

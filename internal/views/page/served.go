package page

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/timeline"
	"github.com/mpitrace/mpitrace/profile"
)

// liveScript is the part of the application that asks a server for data.
const liveScript = "live.js"

// WriteServed writes the page that `mpitrace view` serves: the same application without data,
// which live.js asks the server for.
func WriteServed(w io.Writer) error {
	style, script := file("style.css"), script(true)
	return write(w, "mpitrace", servedPolicy(style, script), style, script, "")
}

// ServedPolicy returns the Content-Security-Policy of the served page. Unlike that of a file,
// it allows requests to the server.
func ServedPolicy() string { return servedPolicy(file("style.css"), script(true)) }

func servedPolicy(style, script string) string {
	return policy(style, script) + "; connect-src 'self'"
}

// Matrices are the matrices of a running job, and the hosts of its ranks.
type Matrices struct {
	Sheets []MatrixData `json:"sheets"`
	Ranks  *hostRanks   `json:"ranks"` // null for more ranks than a page has columns for
}

// hostRanks are the columns of Ranks that a matrix needs.
type hostRanks struct {
	Block int      `json:"block"`
	Rank  []int    `json:"rank"`
	Hosts []string `json:"hosts"`
	Host  []int    `json:"host"`
}

// MatricesOf returns the matrices of a running job.
func MatricesOf(j *aggregate.Job) Matrices {
	out := Matrices{Sheets: sheetsOf(j)}
	if ranks := j.Recorded(); len(ranks) <= maxRanks {
		hosts, hostOf := j.Hosts()
		out.Ranks = &hostRanks{Block: 1, Rank: []int{}, Hosts: append([]string{}, hosts...), Host: []int{}}
		for _, rank := range ranks {
			out.Ranks.Rank, out.Ranks.Host = append(out.Ranks.Rank, rank), append(out.Ranks.Host, hostOf(rank))
		}
	}
	return out
}

// PairsOf returns the columns of the details of pairs.
func PairsOf(details []aggregate.PairDetail) *Pairs { return pairsOf(details) }

// Window holds the calls of a window of time of a timeline, as in Timeline.
type Window struct {
	From   int64        `json:"from_ns"`
	To     int64        `json:"to_ns"`
	Total  uint64       `json:"events_total"` // in the window
	Texts  []string     `json:"texts"`
	Kinds  eventKinds   `json:"kinds"`
	Events []lineEvents `json:"events"` // null if there are more than a page may have
}

// Window returns the calls of a window of time, in ns since the first event. The sources are
// those of the timeline.
func (t *TimelineData) Window(sources []profile.EventSource, from, to int64) (*Window, error) {
	b := newTimelineBuilder(&TimelineData{zero: t.zero, Lines: t.Lines})
	b.lines = map[timeline.Line]int{}
	for i, rank := range t.Lines.Rank {
		b.lines[timeline.Line{Rank: rank, Thread: t.Lines.Thread[i]}] = i
	}
	out := &Window{From: from, To: to}
	lines := make([][]callEvent, len(t.Lines.Rank))
	for _, src := range sources {
		if err := b.addWindow(out, lines, src); err != nil {
			return nil, fmt.Errorf("rank %d: %w", src.Trace().Rank, err)
		}
	}
	if out.Total > pageLimits.events {
		return out, nil
	}
	for _, events := range lines {
		out.Events = append(out.Events, b.columns(events))
	}
	out.Texts, out.Kinds = b.Texts, b.Kinds
	return out, nil
}

// addWindow adds the calls of a process to the lines, up to the budget of a page.
func (b *timelineBuilder) addWindow(out *Window, lines [][]callEvent, src profile.EventSource) error {
	t := src.Trace()
	kinds := []int{} // indices in Kinds of the trace's kinds
	return src.Each(func(e *profile.Events, its []profile.EventKind) error {
		for _, k := range its[len(kinds):] {
			kinds = append(kinds, b.kind(t, &k))
		}
		for i, start := range e.Start {
			kind := &its[e.Kind[i]]
			at := start - b.zero
			if kind.Action != profile.Called || at > out.To || at+e.Duration[i] < out.From {
				continue
			}
			line, ok := b.lineOf(t.Rank, min(max(int(kind.Thread), 0), max(t.Threads, 1)-1))
			if !ok {
				continue
			}
			if out.Total++; out.Total <= pageLimits.events {
				lines[line] = append(lines[line], callEvent{start, e.Duration[i], kinds[e.Kind[i]], e.Bytes[i]})
			}
		}
		return nil
	})
}

package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/internal/timeline"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// timelineLimits bound what the timeline of a traced job adds to the page.
type timelineLimits struct {
	events         uint64 // runs with more events have an overview instead
	columns, lanes int    // of the overview
	messages       int    // above the budget of events
	waits          int    // above the budget of events
}

// The limits of a page. 200,000 events take about 2 MB.
var pageLimits = timelineLimits{events: 200_000, columns: 1024, lanes: 256, messages: 4000, waits: 4000}

// TimelineData is the field "timeline" of a job. Times are ns since the first event.
// Texts are kept once, in Texts; the columns hold indices.
type TimelineData struct {
	Length  int64 `json:"length_ns"`
	InitEnd int64 `json:"init_end_ns"` // when the first rank left MPI_Init
	// FinalizeStart is when the last rank entered MPI_Finalize; 0 if one did not.
	FinalizeStart int64    `json:"finalize_start_ns"`
	Texts         []string `json:"texts"`
	Lines         struct {
		Rank   []int `json:"rank"`
		Thread []int `json:"thread"`
	} `json:"lines"`
	Overview      *timelineOverview `json:"overview"`
	EventsTotal   uint64            `json:"events_total"`
	Events        []lineEvents      `json:"events"`
	Kinds         eventKinds        `json:"kinds"`
	MessagesTotal int               `json:"messages_total"`
	Messages      messageColumns    `json:"messages"`
	WaitsTotal    int               `json:"waits_total"`
	Waits         waitColumns       `json:"waits"`
	PathTotal     int               `json:"path_total"`
	Path          pathColumns       `json:"path"`

	missing []string // what the traces lack
	zero    int64    // the first event, Unix ns
}

type timelineOverview struct {
	Columns int `json:"columns"`
	PerLane int `json:"per_lane"`
	// Shares has for each lane and each activity but the first the shares of the
	// columns, a byte each: 255 is the whole column. No bytes are all zeros.
	Shares [][][]byte `json:"shares"`
}

type lineEvents struct {
	Start    []int64  `json:"start_ns"` // differences from the event before
	Duration []int64  `json:"duration_ns"`
	Kind     []int    `json:"kind"`
	Bytes    []uint64 `json:"bytes"`
}

type eventKinds struct {
	Call      []int    `json:"call"`
	Activity  []int    `json:"activity"`
	Direction []string `json:"direction"`
	Peer      []int32  `json:"peer"`
	Comm      []int    `json:"comm"`
	Site      []int    `json:"site"`
}

type messageColumns struct {
	From  []int    `json:"from"`
	To    []int    `json:"to"`
	Start []int64  `json:"start_ns"` // differences from the message before
	End   []int64  `json:"end_ns"`   // since the start of the send
	Bytes []uint64 `json:"bytes"`
	Tag   []int32  `json:"tag"`
	Comm  []int    `json:"comm"`
}

type waitColumns struct {
	Line     []int   `json:"line"`
	Start    []int64 `json:"start_ns"`
	Duration []int64 `json:"duration_ns"`
	Pattern  []int   `json:"pattern"`
	Peer     []int   `json:"peer"`
	Site     []int   `json:"site"`
	PeerSite []int   `json:"peer_site"`
}

type pathColumns struct {
	Line []int   `json:"line"`
	From []int64 `json:"from_ns"`
	To   []int64 `json:"to_ns"`
}

// timelineOf returns the timeline of one job. The sources are in the order of
// ranks. waits and path are the result of analysing them; path may be nil.
func timelineOf(sources []profile.EventSource, waits []profile.Wait, path *trace.CriticalPath, limits timelineLimits) (*TimelineData, error) {
	b := newTimelineBuilder(&TimelineData{})
	b.limits = limits
	for _, src := range sources {
		b.EventsTotal += src.Trace().Events
	}
	messages := limits.messages
	if b.complete() {
		messages = int(b.EventsTotal)
	}
	found, err := timeline.Survey(sources, timeline.OverviewOptions{Columns: limits.columns, Lanes: limits.lanes, Messages: messages})
	if err != nil {
		return nil, err
	}
	b.addOverview(found)
	b.FinalizeStart = finalizeStart(sources, b.zero)
	b.addMessages(found)
	b.addPath(path)
	if err := b.addEvents(sources, waits); err != nil {
		return nil, err
	}
	return b.TimelineData, nil
}

// finalizeStart returns when the last rank entered MPI_Finalize, in ns since a time; 0
// if one did not.
func finalizeStart(sources []profile.EventSource, zero int64) int64 {
	last := zero
	for _, src := range sources {
		at := src.Trace().FinalizeStart
		if at == 0 {
			return 0
		}
		last = max(last, at)
	}
	return last - zero
}

type timelineBuilder struct {
	*TimelineData
	limits timelineLimits
	texts  names                 // of Texts
	kinds  map[eventKind]int     // indices in Kinds
	lines  map[timeline.Line]int // indices in Lines
	waits  []lineWait
}

func newTimelineBuilder(t *TimelineData) *timelineBuilder {
	return &timelineBuilder{TimelineData: t, texts: names{list: &t.Texts}, kinds: map[eventKind]int{}}
}

// lineWait is a wait and the line of the thread that waited.
type lineWait struct {
	line int
	profile.Wait
}

// eventKind is what a profile.EventKind has in common with those of other ranks.
type eventKind struct {
	call, comm, site, activity int
	direction                  profile.Direction
	peer                       int32
}

// complete reports whether all events are in the page.
func (b *timelineBuilder) complete() bool { return b.EventsTotal <= b.limits.events }

// text returns the index of a text in Texts.
func (b *timelineBuilder) text(s string) int { return b.texts.of(s) }

// lineOf returns the line that shows a thread, and false if there is none.
func (b *timelineBuilder) lineOf(rank, thread int) (int, bool) {
	i, ok := b.lines[timeline.Line{Rank: rank, Thread: -1}]
	if !ok {
		i, ok = b.lines[timeline.Line{Rank: rank, Thread: thread}]
	}
	return i, ok
}

func (b *timelineBuilder) addOverview(found *timeline.Overview) {
	b.zero, b.Length, b.missing = found.Zero, found.End-found.Zero, found.Missing
	if found.InitEnd > 0 {
		b.InitEnd = min(max(found.InitEnd-found.Zero, 0), b.Length)
	}
	b.lines = map[timeline.Line]int{}
	for i, l := range found.Lines {
		b.lines[l] = i
		b.Lines.Rank, b.Lines.Thread = append(b.Lines.Rank, l.Rank), append(b.Lines.Thread, l.Thread)
	}
	if b.complete() {
		return
	}
	b.Overview = &timelineOverview{Columns: found.Columns, PerLane: found.PerLane}
	for _, shares := range found.Shares {
		b.Overview.Shares = append(b.Overview.Shares, shareBytes(shares, len(timeline.Activities())-1))
	}
}

// shareBytes returns the shares of a lane by activity. Shares above 0 stay above 0.
func shareBytes(shares []float32, activities int) [][]byte {
	out := make([][]byte, activities)
	for i, share := range shares {
		if share == 0 {
			continue
		}
		line := &out[i%activities]
		if *line == nil {
			*line = make([]byte, len(shares)/activities)
		}
		(*line)[i/activities] = byte(max(math.Round(255*float64(min(share, 1))), 1))
	}
	return out
}

func (b *timelineBuilder) addMessages(found *timeline.Overview) {
	b.MessagesTotal = found.AllMessages
	slices.SortFunc(found.Messages, func(x, y timeline.Message) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), x.From-y.From, cmp.Compare(x.End, y.End))
	})
	out, last := &b.Messages, b.zero
	for _, m := range found.Messages {
		out.From, out.To = append(out.From, m.From), append(out.To, m.To)
		out.Start, out.End = append(out.Start, m.Start-last), append(out.End, m.End-m.Start)
		out.Bytes, out.Tag, out.Comm = append(out.Bytes, m.Bytes), append(out.Tag, m.Tag), append(out.Comm, b.text(m.Comm))
		last = m.Start
	}
}

func (b *timelineBuilder) addPath(path *trace.CriticalPath) {
	if path == nil {
		return
	}
	b.PathTotal = len(path.Segments)
	if b.PathTotal > 0 {
		b.PathTotal = max(b.PathTotal, path.Jumps+1)
	}
	for _, s := range path.Segments {
		if line, ok := b.lineOf(s.Rank, s.Thread); ok {
			b.Path.Line = append(b.Path.Line, line)
			b.Path.From, b.Path.To = append(b.Path.From, s.From-b.zero), append(b.Path.To, s.To-b.zero)
		}
	}
}

// addEvents adds the waits, and all events if they are in the budget. The events
// say which thread waited.
func (b *timelineBuilder) addEvents(sources []profile.EventSource, waits []profile.Wait) error {
	b.WaitsTotal = len(waits)
	if !b.complete() && len(waits) > b.limits.waits {
		waits = slices.SortedFunc(slices.Values(waits), func(x, y profile.Wait) int { return cmp.Compare(y.Duration, x.Duration) })
		waits = waits[:b.limits.waits]
	}
	if b.complete() {
		b.Events = make([]lineEvents, len(b.Lines.Rank))
	}
	ofRank := map[int]map[int64][]profile.Wait{}
	for _, w := range waits {
		if ofRank[w.Rank] == nil {
			ofRank[w.Rank] = map[int64][]profile.Wait{}
		}
		ofRank[w.Rank][w.Event] = append(ofRank[w.Rank][w.Event], w)
	}
	for _, src := range sources {
		if err := b.addProcess(src, ofRank[src.Trace().Rank]); err != nil {
			return fmt.Errorf("rank %d: %w", src.Trace().Rank, err)
		}
	}
	b.addWaits()
	return nil
}

// addProcess adds the events of a process and its waits, which are given by the
// number of their event.
func (b *timelineBuilder) addProcess(src profile.EventSource, waits map[int64][]profile.Wait) error {
	t := src.Trace()
	if line, one := b.lines[timeline.Line{Rank: t.Rank, Thread: -1}]; one && !b.complete() {
		for _, of := range waits {
			b.place(line, of)
		}
		return nil
	}
	kinds := []int{} // indices in Kinds of the trace's kinds
	threads := make([][]callEvent, max(t.Threads, 1))
	number := int64(0)
	err := src.Each(func(e *profile.Events, its []profile.EventKind) error {
		for _, k := range its[len(kinds):] {
			kinds = append(kinds, b.kind(t, &k))
		}
		for i, start := range e.Start {
			kind := &its[e.Kind[i]]
			thread := min(max(int(kind.Thread), 0), len(threads)-1)
			line, ok := b.lineOf(t.Rank, thread)
			if of := waits[number]; ok && of != nil {
				b.place(line, of)
			}
			if number++; ok && kind.Action == profile.Called && b.complete() {
				threads[thread] = append(threads[thread], callEvent{start, e.Duration[i], kinds[e.Kind[i]], e.Bytes[i]})
			}
		}
		return nil
	})
	lines := map[int][]callEvent{}
	for thread, events := range threads {
		if line, ok := b.lineOf(t.Rank, thread); ok {
			lines[line] = append(lines[line], events...)
		}
	}
	for line, events := range lines {
		if b.complete() {
			b.Events[line] = b.columns(events)
		}
	}
	return err
}

// callEvent is a call.
type callEvent struct {
	start, duration int64
	kind            int
	bytes           uint64
}

// columns returns the events of a line in the order in which they start; a call
// comes before those that it makes in a callback.
func (b *timelineBuilder) columns(events []callEvent) (out lineEvents) {
	slices.SortStableFunc(events, func(x, y callEvent) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(y.duration, x.duration))
	})
	last := b.zero
	for _, e := range events {
		out.Start, out.Duration = append(out.Start, e.start-last), append(out.Duration, e.duration)
		out.Kind, out.Bytes = append(out.Kind, e.kind), append(out.Bytes, e.bytes)
		last = e.start
	}
	return out
}

// kind returns the index in Kinds of a kind of events.
func (b *timelineBuilder) kind(t *profile.Trace, k *profile.EventKind) int {
	comm := ""
	if k.Comm >= 0 && int(k.Comm) < len(t.Comms) {
		comm = t.Comms[k.Comm].Label
	}
	key := eventKind{b.text(k.Call), b.text(comm), b.text(k.Callsite), int(timeline.ActivityOf(k)), k.Direction, k.Peer}
	i, known := b.kinds[key]
	if !known {
		i = len(b.kinds)
		b.kinds[key] = i
		out := &b.Kinds
		out.Call, out.Comm, out.Site = append(out.Call, key.call), append(out.Comm, key.comm), append(out.Site, key.site)
		out.Activity, out.Peer = append(out.Activity, key.activity), append(out.Peer, key.peer)
		out.Direction = append(out.Direction, key.direction.String())
	}
	return i
}

// place keeps the waits of an event with their line.
func (b *timelineBuilder) place(line int, waits []profile.Wait) {
	for _, w := range waits {
		b.waits = append(b.waits, lineWait{line, w})
	}
}

func (b *timelineBuilder) addWaits() {
	slices.SortFunc(b.waits, func(x, y lineWait) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), x.line-y.line, cmp.Compare(x.Event, y.Event), x.Peer-y.Peer)
	})
	out := &b.Waits
	for _, w := range b.waits {
		out.Line, out.Peer = append(out.Line, w.line), append(out.Peer, w.Peer)
		out.Start, out.Duration = append(out.Start, w.Start-b.zero), append(out.Duration, w.Duration)
		out.Pattern, out.Site = append(out.Pattern, b.text(w.Pattern)), append(out.Site, b.text(w.Callsite))
		out.PeerSite = append(out.PeerSite, b.text(w.PeerCallsite))
	}
}

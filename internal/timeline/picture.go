package timeline

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// line is a rank or one of its threads: the smallest unit that can have a lane.
type line struct {
	source, rank int
	thread       int // -1 for all threads of the rank
}

func (l line) label() string {
	if l.thread < 0 {
		return strconv.Itoa(l.rank)
	}
	return fmt.Sprintf("%d.%d", l.rank, l.thread)
}

// drawing is a timeline while it is being made.
type drawing struct {
	*plot.Timeline
	sources  []profile.EventSource
	seen     []firstPass
	lines    []line
	zero     int64 // start of the job's first event, Unix ns
	from, to int64 // ends of the axis, Unix ns
	columns  int   // number of columns of a lane
	messages *messages
	bar      *text.Progress
	free     sync.Pool     // holds *bins
	skipped  int64         // ns in MPI_Init, which the axis leaves out
	inside   atomic.Uint64 // number of events in the picture
}

// NoRanksError is returned if none of the requested ranks was traced.
type NoRanksError struct{ Asked, There profile.RankSet }

func (e *NoRanksError) Error() string {
	return fmt.Sprintf("no trace of %v: there are those of %v", e.Asked, e.There)
}

func newPicture(sources []profile.EventSource, all []firstPass, o *Options) (*drawing, error) {
	p, err := selected(sources, all, o)
	if err != nil {
		return nil, err
	}
	p.Timeline = &plot.Timeline{
		Title: o.Title, Width: o.Width, Height: o.Height,
		From: time.Duration(p.from - p.zero).Seconds(), To: time.Duration(p.to - p.zero).Seconds(),
		TimeName: "since the first event",
		AxisName: "rank", PerLane: 1,
		Ground: Activities()[0], Classes: Activities()[1:],
	}
	p.fold(plot.LanesIn(o.Height))
	p.columns = p.Columns()
	if o.Messages {
		p.messages = newMessages(p, maxEnds, maxLinks)
	}
	return p, nil
}

// selected returns a picture that has the lines and the time axis, but no lanes.
func selected(sources []profile.EventSource, all []firstPass, o *Options) (*drawing, error) {
	p := &drawing{sources: sources, seen: all}
	whole := noTime
	for _, s := range all {
		whole.add(s.span)
	}
	zero, end := whole.first, whole.last
	if end < zero {
		return nil, fmt.Errorf("no event in the traces of %s", text.CountOf(len(sources), "rank"))
	}
	if p.lines = linesOf(sources, all, o); len(p.lines) == 0 {
		return nil, &NoRanksError{o.Ranks, ranksOf(sources)}
	}
	p.zero = zero
	if err := p.axis(end, o); err != nil {
		return nil, err
	}
	return p, nil
}

// axis sets the ends of the time axis.
func (p *drawing) axis(end int64, o *Options) error {
	p.from, p.to = p.zero+int64(o.From), end
	if o.To > 0 {
		p.to = min(p.zero+int64(o.To), end)
	}
	if at := p.initEnd(); o.From == 0 && !o.IncludeInit && p.zero < at && at < p.to {
		p.from, p.skipped = at, at-p.zero
	}
	if length := time.Duration(end - p.zero); o.From > 0 && o.From >= length {
		return fmt.Errorf("nothing after %v: the last event ends %s after the first began", o.From, text.Duration(float64(length), false))
	}
	p.to = max(p.to, p.from+1) // if there is only one event, without duration
	return nil
}

// initEnd returns when the first of the drawn ranks left MPI_Init, or 0 if that
// is unknown.
func (p *drawing) initEnd() int64 {
	first := int64(0)
	for _, source := range p.drawn() {
		if at := p.sources[source].Trace().InitEnd; at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}

// nearest returns an error that says where the nearest events are. It is called
// if there are none in the requested time.
func (p *drawing) nearest() error {
	before, after := int64(math.MinInt64), int64(math.MaxInt64)
	for _, source := range p.drawn() {
		err := p.sources[source].Each(func(e *profile.Events, _ []profile.EventKind) error {
			for i, start := range e.Start {
				if end := start + e.Duration[i]; end < p.from {
					before = max(before, end)
				} else {
					after = min(after, start)
				}
			}
			return nil
		})
		if err != nil {
			return ofRank(p.sources[source], err)
		}
	}
	since := func(at int64) time.Duration { return time.Duration(at - p.zero) }
	var nearby []string
	if before > math.MinInt64 {
		nearby = append(nearby, fmt.Sprintf("before, the last ends at %v", since(before)))
	}
	if after < math.MaxInt64 {
		nearby = append(nearby, fmt.Sprintf("after, the first begins at %v", since(after)))
	}
	if len(nearby) == 0 {
		return fmt.Errorf("the traces of %v have no event", profile.RankSetOf(p.ranks()...))
	}
	return fmt.Errorf("no event from %v to %v: %s", since(p.from), since(p.to), strings.Join(nearby, "; "))
}

func (p *drawing) ranks() (ranks []int) {
	for _, l := range ranksOnly(p.lines) {
		ranks = append(ranks, l.rank)
	}
	return ranks
}

func ranksOf(sources []profile.EventSource) profile.RankSet {
	ranks := make([]int, len(sources))
	for i, src := range sources {
		ranks[i] = src.Trace().Rank
	}
	return profile.RankSetOf(ranks...)
}

// linesOf returns a line for each drawn rank, or one for each of its threads if
// several made MPI calls.
func linesOf(sources []profile.EventSource, all []firstPass, o *Options) []line {
	var lines []line
	for i, src := range sources {
		rank := src.Trace().Rank
		if o.Ranks != nil && !o.Ranks.Contains(rank) {
			continue
		}
		var used []line
		for thread, is := range all[i].threads {
			if is {
				used = append(used, line{i, rank, thread})
			}
		}
		if len(used) < 2 {
			used = []line{{i, rank, -1}}
		}
		lines = append(lines, used...)
	}
	return lines
}

// fold assigns the lines to at most so many lanes. It first puts the threads of
// a rank together, then several ranks.
func (p *drawing) fold(most int) {
	if len(p.lines) > most {
		p.lines = ranksOnly(p.lines)
	}
	p.PerLane = (len(p.lines) + most - 1) / most
	for _, l := range p.lines {
		p.Labels = append(p.Labels, l.label())
		if l.thread >= 0 {
			p.AxisName = "rank.thread"
		}
	}
	p.Lanes = make([]plot.Lane, (len(p.lines)+p.PerLane-1)/p.PerLane)
}

func ranksOnly(lines []line) []line {
	var ranks []line
	for _, l := range lines {
		if n := len(ranks); n == 0 || ranks[n-1].source != l.source {
			ranks = append(ranks, line{l.source, l.rank, -1})
		}
	}
	return ranks
}

// strip is what the events of one process are added to.
type strip struct {
	*firstPass
	class []uint8 // by event kind
	bins  []*bins // by thread
	line  []int   // by thread
}

// fill reads all events, with several workers. One worker fills all lanes of a
// process, and reads all processes of these lanes, so that no two workers share
// a lane.
func (p *drawing) fill(log io.Writer) error {
	total := uint64(0)
	for _, source := range p.drawn() {
		total += p.sources[source].Trace().Events
	}
	p.bar = text.StartProgress(log, "drawing", int(total))
	defer p.bar.Done()
	p.free.New = func() any { return newBins(p.from, p.to, p.columns) }
	groups := p.groups()
	return eachOf(len(groups), func(i int) error { return p.fillGroup(groups[i]) })
}

// laneGroup is the lines from <= i < to. It contains whole lanes and whole
// processes.
type laneGroup struct{ from, to int }

func (p *drawing) groups() []laneGroup {
	var out []laneGroup
	from := 0
	for i := 1; i <= len(p.lines); i++ {
		if i == len(p.lines) || i%p.PerLane == 0 && p.lines[i].source != p.lines[i-1].source {
			out = append(out, laneGroup{from, i})
			from = i
		}
	}
	return out
}

func (p *drawing) fillGroup(g laneGroup) error {
	lanes := map[int]*bins{}
	for i := g.from; i < g.to; {
		end := i + 1
		for end < g.to && p.lines[end].source == p.lines[i].source {
			end++
		}
		if err := p.fillProcess(i, end, lanes); err != nil {
			return err
		}
		i = end
	}
	for lane, b := range lanes {
		p.Lanes[lane].Shares = b.shares()
		p.free.Put(b)
	}
	return nil
}

// fillProcess adds the events of the process that the lines from <= i < to
// belong to.
func (p *drawing) fillProcess(from, to int, lanes map[int]*bins) error {
	source := p.lines[from].source
	s := &strip{firstPass: &p.seen[source], bins: make([]*bins, len(p.seen[source].threads)), line: make([]int, len(p.seen[source].threads))}
	for i := from; i < to; i++ {
		lane := i / p.PerLane
		b := lanes[lane]
		if b == nil {
			b = p.free.Get().(*bins)
			clear(b.ns)
			b.lines = min(p.PerLane, len(p.lines)-lane*p.PerLane)
			lanes[lane] = b
		}
		p.present(lane, source)
		for thread := range s.bins {
			if p.lines[i].thread < 0 || p.lines[i].thread == thread {
				s.bins[thread], s.line[thread] = b, i
			}
		}
	}
	ends := p.messages.of(p.sources[source].Trace())
	read := 0
	err := p.each(source, func(e *profile.Events, kinds []profile.EventKind) error {
		s.add(e, kinds)
		p.inside.Add(p.countInside(e))
		ends.add(e, kinds, s)
		p.bar.Add(e.Len())
		read += e.Len()
		return nil
	})
	p.bar.Add(int(p.sources[source].Trace().Events) - read) // events that did not have to be read
	p.messages.join(ends)
	return ofRank(p.sources[source], err)
}

// countInside returns the number of events that overlap the axis.
func (p *drawing) countInside(e *profile.Events) (n uint64) {
	for i, start := range e.Start {
		if start <= p.to && start+e.Duration[i] >= p.from {
			n++
		}
	}
	return n
}

// each calls f with the events of a process, at least with those that may
// overlap the axis.
func (p *drawing) each(source int, f func(*profile.Events, []profile.EventKind) error) error {
	in, is := p.sources[source].(seekable)
	if !is {
		return p.sources[source].Each(f)
	}
	margin := int64(0)
	if p.messages != nil {
		margin = p.messages.margin()
	}
	return in.EachBetween(p.from-margin, p.to+margin, f)
}

// present extends the time in which a lane has a process by that of the source.
func (p *drawing) present(lane, source int) {
	t, s := p.sources[source].Trace(), p.seen[source]
	begin, end := s.first, s.last
	if t.Start > 0 {
		begin = min(begin, t.Start)
	}
	end = max(end, t.End)
	seconds := func(at int64) float64 { return p.From + time.Duration(at-p.from).Seconds() }
	l := &p.Lanes[lane]
	if l.Begin == l.End {
		l.Begin, l.End = seconds(begin), seconds(end)
	}
	l.Begin, l.End = min(l.Begin, seconds(begin)), max(l.End, seconds(end))
}

func (s *strip) add(e *profile.Events, kinds []profile.EventKind) {
	for i := len(s.class); i < len(kinds); i++ {
		s.class = append(s.class, uint8(ActivityOf(&kinds[i])-1))
	}
	for i, duration := range e.Duration {
		if duration == 0 {
			continue
		}
		kind := e.Kind[i]
		s.bins[s.thread(&kinds[kind])].add(int(s.class[kind]), e.Start[i], e.Start[i]+duration)
	}
}

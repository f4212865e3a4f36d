package trace

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/profile"
)

// causePass finds the causes of the waits. It reads the traces again and merges their calls with the
// waits, in the order of the starts of the calls.
type causePass struct {
	r       *replay
	finder  *causes.Finder
	names   causes.Names
	stops   causes.Numbers[causes.Stop]
	places  causes.Numbers[causes.WaitPlace]
	slices  causes.Numbers[string]
	late    []Pattern
	laneOf  []int32  // number for the finder, by lane.id
	worstNs int64    // clocks contradict each other by so much
	clocks  []string // by index of the process
	readers []*causeReader
	steps   uint64            // events in this interval
	found   []causes.LaneWait // in the current call
}

// causeReader merges the calls of a process with its waits.
type causeReader struct {
	p       *replayedRank
	lanes   map[int32]int32 // number for the finder, by thread
	threads []int32         // the same numbers, in order
	kinds   []causeKind
	waits   *waitReader
	next    loggedWait
	more    bool // whether next is valid
	batches chan batch
	resume  chan struct{}
	batch   batch
	at      int
	before  int64
	slice   string // of the last call
}

// causeKind is what the pass needs of a profile.EventKind.
type causeKind struct {
	called, setsUp bool
	lane, stop     int32 // stop is -1 until the kind has a call
}

// findCauses adds the causes of all waits to a result. memory is about how many bytes it may use.
func (r *replay) findCauses(out *Result, memory int) error {
	c := &causePass{r: r, late: r.logged.settle()}
	c.stops.Of(causes.Begin)
	c.stops.Of(causes.End)
	if k := out.Clocks; k != nil && k.Backwards+k.LeftEarly > 0 {
		c.worstNs = k.WorstNs
	}
	c.start(memory)
	if err := c.all(); err != nil {
		return err
	}
	c.names.Stops, c.names.Places = c.stops.List, c.places.List
	c.names.Sliced = len(c.slices.List) > 1
	c.names.Total = float64(r.runtime()) * float64(len(r.processes))
	list, err := c.finder.Causes(c.names)
	if err != nil {
		return err
	}
	out.Causes, out.CausesCover = list, c.finder.Coverage()
	return nil
}

// start makes the finder and its lanes: the threads of each rank in order.
func (c *causePass) start(memory int) {
	r := c.r
	c.laneOf = make([]int32, len(r.lanes))
	programs := programNames(r.processes)
	var lanes []causes.RankThread
	for i, p := range r.processes {
		reader := &causeReader{p: p, lanes: map[int32]int32{}, waits: r.logged.reader(i), batches: make(chan batch), resume: make(chan struct{}, 1)}
		c.readers = append(c.readers, reader)
		c.clocks = append(c.clocks, clockKey(p.trace))
		c.names.Ranks = append(c.names.Ranks, causes.Rank{Number: int(p.rank), Program: programs[i], Own: p.ownShare})
		of := causes.RankThread{Rank: int32(i), Begin: p.from(), End: max(p.to(), p.from()), Main: true, Partial: p.partial, Holes: p.trace.Holes}
		for thread := range max(len(p.lanes), 1) {
			if thread > 0 && p.lanes[thread] == nil {
				continue
			}
			n := int32(len(lanes))
			reader.lanes[int32(thread)], reader.threads = n, append(reader.threads, n)
			if thread < len(p.lanes) && p.lanes[thread] != nil {
				c.laneOf[p.lanes[thread].id] = n
			}
			lanes = append(lanes, of)
			of.Main = false
		}
		reader.advance()
	}
	c.finder = causes.NewFinder(lanes, memory, r.logged.overflow)
}

// advance takes the next wait of the process.
func (c *causeReader) advance() { c.next, c.more = c.waits.next() }

// all passes all calls to the finder, in intervals of time.
func (c *causePass) all() error {
	stop := make(chan struct{})
	defer close(stop)
	for _, reader := range c.readers {
		go reader.feed(stop)
	}
	until, window := c.r.start, c.r.firstWindow
	for more := true; more; {
		more = false
		first, farthest := int64(unknownTime), int64(unknownTime)
		c.steps = 0
		for _, reader := range c.readers {
			if err := c.run(reader, until); err != nil {
				return err
			}
			if !reader.batch.last {
				more = true
				first, farthest = min(first, reader.start(0)), min(farthest, reader.start(c.finder.Calls()))
			}
		}
		c.finder.Advance(until)
		window = min(c.r.adapted(window, c.steps), c.r.runtime()+1)
		until = max(min(until+window, farthest), first)
	}
	for _, reader := range c.readers {
		if err := reader.waits.err; err != nil {
			return err
		}
		if reader.more {
			return fmt.Errorf("find causes: rank %d has a wait in event %d, which its trace does not have", reader.p.rank, reader.next.event)
		}
	}
	return c.finder.Close()
}

// feed reads the events of the process.
func (c *causeReader) feed(stop <-chan struct{}) {
	err := c.p.src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		if e.Len() == 0 {
			return nil
		}
		select {
		case c.batches <- batch{events: e, kinds: kinds}:
		case <-stop:
			return errStopped
		}
		select {
		case <-c.resume:
			return nil
		case <-stop:
			return errStopped
		}
	})
	if err != nil {
		err = fmt.Errorf("read trace of rank %d: %w", c.p.rank, err)
	}
	select {
	case c.batches <- batch{last: true, err: err}:
	case <-stop:
	}
}

// start returns the start of the next event but n, or of the last one in the batch.
func (c *causeReader) start(n int) int64 {
	all := c.batch.events.Start
	return all[min(c.at+n, len(all)-1)]
}

// run passes the calls of a process that start by the given time to the finder.
func (c *causePass) run(reader *causeReader, until int64) error {
	for !reader.batch.last {
		if e := reader.batch.events; e != nil {
			n := e.Len()
			for ; reader.at < n; reader.at++ {
				if e.Start[reader.at] > until {
					return nil
				}
				c.steps++
				c.call(reader, e)
			}
			reader.before += int64(n)
			reader.resume <- struct{}{}
		}
		reader.batch, reader.at = <-reader.batches, 0
		if reader.batch.err != nil {
			return reader.batch.err
		}
		c.newKinds(reader)
		if reader.batch.last {
			place := c.places.Of(causes.WaitPlace{Stop: causes.FinalizeStop, Pattern: causes.EndedEarly, Slice: reader.slice})
			for _, lane := range reader.threads {
				c.finder.End(lane, place)
			}
		}
	}
	return nil
}

// newKinds prepares for the kinds of a batch.
func (c *causePass) newKinds(reader *causeReader) {
	kinds := reader.batch.kinds
	for i := len(reader.kinds); i < len(kinds); i++ {
		k := &kinds[i]
		reader.kinds = append(reader.kinds, causeKind{called: k.Action == profile.Called, setsUp: profile.SetsUp(k.Call),
			lane: reader.lanes[max(k.Thread, 0)], stop: -1})
	}
}

// call passes the current event of a process to the finder, if it is a call.
func (c *causePass) call(reader *causeReader, e *profile.Events) {
	i, p := reader.at, reader.p
	k := &reader.kinds[e.Kind[i]]
	if !k.called {
		return
	}
	start := e.Start[i]
	end := start + e.Duration[i]
	c.found = c.found[:0]
	for index := reader.before + int64(i); reader.more && reader.next.event == index; reader.advance() {
		c.wait(reader, start, &reader.batch.kinds[e.Kind[i]])
	}
	if len(c.found) == 0 && (end <= p.from() || k.setsUp && start >= p.to()) {
		return
	}
	if k.stop < 0 {
		of := &reader.batch.kinds[e.Kind[i]]
		c.slices.Of(of.Slice)
		k.stop = c.stops.Of(causes.Stop{Call: of.Call, Callsite: of.Callsite})
	}
	reader.slice = reader.batch.kinds[e.Kind[i]].Slice
	c.finder.Call(k.lane, start, end, k.stop, c.found)
}

// wait adds the next logged wait of a process to those of its current call, unless it turned out to be
// none. The call starts at the given time.
func (c *causePass) wait(reader *causeReader, start int64, k *profile.EventKind) {
	w := &reader.next
	pattern := Pattern(w.pattern)
	if w.pattern >= latePattern {
		pattern = c.late[w.pattern-latePattern]
	}
	if pattern == NoPattern || pattern == Undecided {
		return
	}
	own, other := reader.p.index, c.r.lanes[w.on].process.index
	c.found = append(c.found, causes.LaneWait{Start: start + w.offset, End: start + w.offset + w.long, For: c.laneOf[w.on],
		Place: c.places.Of(causes.WaitPlace{Stop: c.stops.Of(causes.Stop{Call: k.Call, Callsite: k.Callsite}), Pattern: pattern.String(), Slice: k.Slice}),
		// Clocks that contradict each other prove only waits that are longer than their error.
		Unknown: w.long <= c.worstNs && c.clocks[own] != c.clocks[other]})
}

// programNames returns the names of the processes' programs, as in aggregate.Programs. The names are
// empty if the job has one program.
func programNames(ps []*replayedRank) []string {
	type program struct{ path, build string }
	of := make([]program, len(ps))
	builds, byFile := map[string][]string{}, map[string]map[program]bool{}
	for i, p := range ps {
		of[i] = program{p.trace.Program, p.trace.BuildID}
		if b := of[i]; b.build != "" && !slices.Contains(builds[b.path], b.build) {
			builds[b.path] = append(builds[b.path], b.build)
		}
	}
	all := map[program]bool{}
	for i := range of {
		p := &of[i]
		if p.build == "" && len(builds[p.path]) == 1 { // the process may have been killed early
			p.build = builds[p.path][0]
		}
		file := filepath.Base(p.path)
		if byFile[file] == nil {
			byFile[file] = map[program]bool{}
		}
		all[*p], byFile[file][*p] = true, true
	}
	names := make([]string, len(ps))
	if len(all) < 2 {
		return names
	}
	for i, p := range of {
		names[i] = filepath.Base(p.path)
		if len(byFile[names[i]]) > 1 {
			names[i] = p.path
			if p.build != "" {
				names[i] = filepath.Base(p.path) + " " + p.build[:min(len(p.build), 8)]
			}
		}
	}
	return names
}

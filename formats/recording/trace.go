package recording

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// Clock converts a process's ticks to Unix ns. Processes under one kernel count
// the same ticks and share one Clock: two Clocks would differ by the error of
// their readings.
type Clock struct {
	ticks uint64  // a reading of the ticks
	unix  int64   // and of the time of day at that moment, Unix ns
	scale float64 // ns per tick
	span  uint64  // ns between the readings that give scale
}

// Better returns the clock with the more accurate scale.
func (c Clock) Better(o Clock) Clock {
	if o.span > c.span {
		return o
	}
	return c
}

func (c Clock) time(ticks uint64) int64 {
	return c.unix + int64(math.RoundToEven(float64(int64(ticks-c.ticks))*c.scale))
}

// ReadClock reads the clock of the recording at path. id is the same for
// processes that share a clock.
func ReadClock(path string) (id string, c Clock, err error) {
	err = withFile(path, func(f *file) error {
		h := &f.header
		id = cmp.Or(f.clockID(), f.text(layout.StringHost))
		c = Clock{h.Start.Ticks, int64(h.Start.Realtime), f.nsPerTick(), 0}
		for _, later := range f.laterClocks() {
			if later.Monotonic > h.Start.Monotonic {
				c.span = max(c.span, later.Monotonic-h.Start.Monotonic)
			}
		}
		return nil
	})
	return id, c, err
}

// clockID returns the value of Trace.ClockID. CLOCK_MONOTONIC may differ between containers (time
// namespaces); the processor's counter does not.
func (f *file) clockID() string {
	boot := f.text(layout.StringBoot)
	if boot != "" && f.header.Clock == layout.ClockMonotonic {
		boot += " " + f.text(layout.StringHost)
	}
	return boot
}

// EventReader are the events of one process: a profile.EventSource. Files are open
// only while events are read.
type EventReader struct {
	trace profile.Trace
	of    *profile.Profile
	clock Clock
	names []string // names of the files
	whole uint64   // ticks of the first event that may be missing because a thread ran out of room; 0 if there is none
	// Problems describes the damage in the files, each with its position.
	Problems []string
}

// eventReading is the state while the events of a process are read.
type eventReading struct {
	*EventReader
	order   binary.ByteOrder
	files   []*eventFile
	streams [][]chunk
	holes   uint64 // number of chunks that are missing
	rows    rows
	links   eventLinks
}

// OpenEvents opens the events of a process. p is its profile, read from the
// recording next to them; the names of communicators and call sites are taken
// from it.
func OpenEvents(p *profile.Profile, c Clock) (*EventReader, error) {
	e := &EventReader{of: p, clock: c, names: EventFiles(p.Source)}
	if len(e.names) == 0 {
		return nil, fmt.Errorf("%s: its process was not traced", p.Source)
	}
	r := eventReading{EventReader: e}
	defer r.close()
	err := withFile(p.Source, func(f *file) error {
		r.order = f.order
		e.describe(p, f)
		return nil
	})
	if err == nil {
		err = r.openFiles()
	}
	if err != nil {
		return nil, err
	}
	e.trace.Gaps = len(e.Problems) > 0 || r.holes > 0 || p.Pauses > 0
	e.trace.Holes = e.trace.Gaps
	stopped := false // whether some threads may have run out of room earlier than others
	for _, f := range r.files {
		e.trace.Dropped += f.header.Dropped
		e.trace.NoRoom = e.trace.NoRoom || f.header.Cut&layout.CutNoRoom != 0
		e.trace.Cut = e.trace.Cut || f.header.Cut != 0
		e.trace.Holes = e.trace.Holes || f.header.Cut&(layout.CutSlices|layout.CutClasses) != 0
		e.trace.Gaps = e.trace.Gaps || f.header.Cut&(layout.CutRing|layout.CutSlices) != 0
		stopped = stopped || f.header.Cut&(layout.CutLimit|layout.CutNoRoom) != 0
	}
	if stopped && max(len(r.streams), p.Threads) > 1 && !e.trace.Gaps {
		if e.whole = r.wholeUntil(); e.whole == 0 || len(r.streams) < p.Threads {
			e.trace.Gaps = true
		} else {
			e.trace.WholeUntil = c.time(e.whole)
		}
	}
	e.trace.Events = r.count()
	e.trace.Cut = e.trace.Cut || len(e.Problems) > 0 || r.holes > 0
	if e.trace.Events > math.MaxInt32 {
		return nil, fmt.Errorf("%s: %d events, more than are read of one process: %d", p.Source, e.trace.Events, math.MaxInt32)
	}
	return e, nil
}

// CountEvents returns how many events there are now next to the recording at
// path.
func CountEvents(path string) (uint64, error) {
	r := eventReading{EventReader: &EventReader{of: &profile.Profile{Source: path}, names: EventFiles(path)}}
	defer r.close()
	err := withFile(path, func(f *file) error {
		r.order = f.order
		return nil
	})
	if err == nil && len(r.names) > 0 {
		err = r.openFiles()
	}
	return r.count(), err
}

func (r *eventReading) count() (n uint64) {
	for _, s := range r.streams {
		for _, c := range s {
			n += c.Count
		}
	}
	return n
}

// wholeUntil returns the end of the last event of the thread that ran out of
// room first, in ticks. Only a thread whose last chunk is full can have run out
// of room. It returns 0 if that is unknown.
func (r *eventReading) wholeUntil() uint64 {
	first := uint64(0)
	for _, s := range r.streams {
		last := s[len(s)-1]
		if last.Count < layout.ChunkEvents {
			continue
		}
		raw := make([]byte, eventSize)
		if _, err := last.in.ReadAt(raw, last.at+int64(last.Count-1)*eventSize); err != nil {
			return 0
		}
		e := decodeEvent(raw, last.Thread)
		if end := e.end(); first == 0 || end < first {
			first = end
		}
	}
	return first
}

func (r *eventReading) close() {
	for _, f := range r.files {
		f.in.Close()
	}
}

// openFiles opens the files and finds the chunks of each thread.
func (r *eventReading) openFiles() error {
	r.Problems, r.names = nil, EventFiles(r.of.Source) // a running process may have created another file
	for _, name := range r.names {
		f, err := openEventFile(name, r.order)
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		r.files = append(r.files, f)
	}
	missing(r.files, func(f *eventFile, at int64, why string) { r.problem(f.in, at, why) })
	var all []chunk
	for _, f := range r.files {
		all = append(all, f.chunks(func(at int64, why string) { r.problem(f.in, at, why) })...)
	}
	r.streams = r.inOrder(all)
	r.sayHoles()
	return nil
}

// running reports whether the process may write while its files are read.
func (r *eventReading) running() bool {
	return r.of.State == profile.Running && r.of.Exit.At == 0 && !r.of.Exit.Gone
}

// sayHoles reports missing chunks, unless another problem explains them.
func (r *eventReading) sayHoles() {
	for _, f := range r.files {
		if f.header.Cut&layout.CutRing != 0 {
			r.holes = 0
		}
	}
	if r.holes > 0 && len(r.Problems) == 0 && !r.running() {
		r.problem(r.files[0].in, layout.EventsHeaderSize, fmt.Sprintf("chunks that are missing: %d", r.holes))
	}
}

// find returns the new place of a full chunk that the process has moved since
// the files were opened.
func (r *eventReading) find(c chunk) (chunk, error) {
	for _, f := range r.files {
		for _, now := range f.chunks(func(int64, string) {}) {
			if now.Sequence == c.Sequence && now.Thread == c.Thread && now.Count >= c.Count {
				now.Count = c.Count
				return now, nil
			}
		}
	}
	return c, fmt.Errorf("%s: byte %d: %w, and is not kept: its process still runs", c.in.Name(), c.at-chunkHead, errMoved)
}

func (e *EventReader) problem(in eventInput, at int64, why string) {
	if len(e.Problems) < maxProblems {
		e.Problems = append(e.Problems, fmt.Sprintf("%s: byte %d: %s", in.Name(), at, why))
	}
}

// open prepares reading all events. A running process may have written more events since the last
// reading.
func (r *eventReading) open() error {
	err := withFile(r.of.Source, func(f *file) error {
		r.order = f.order
		return r.rows.load(r.of, f)
	})
	if err == nil {
		err = r.openFiles()
	}
	if err == nil {
		err = r.link()
	}
	return err
}

// describe sets e.trace from the profile, with times on the common clock.
func (e *EventReader) describe(p *profile.Profile, f *file) {
	at := func(c layout.Clock) int64 {
		if c.Ticks == 0 {
			return 0
		}
		return e.clock.time(c.Ticks)
	}
	h := &f.header
	e.trace = profile.Trace{Run: p.Run, Rank: p.Rank, Size: p.Size, Host: p.Host, ClockID: f.clockID(), Pid: p.Pid, State: p.State,
		Start: at(h.Start), InitEnd: at(h.InitEnd), FinalizeStart: at(h.FinalizeStart), End: at(h.FinalizeEnd), Threads: p.Threads,
		Lifetimes: p.Lifetimes, ThreadUse: p.ThreadUse, Program: p.Program, BuildID: p.BuildID()}
	if e.trace.End == 0 {
		e.trace.End = p.End
	}
	e.trace.Placement = p.Placement
	if sum, ok := profile.TotalUsage(p.Usage); ok {
		e.trace.Usage = &sum
	}
	for i := range p.Comms {
		c := &p.Comms[i]
		e.trace.Comms = append(e.trace.Comms, profile.TraceComm{Label: c.Label(), ID: c.ID, Size: c.Members.Len(),
			Rank: c.Rank, Inter: c.Inter, Remote: c.Remote.Len(), Edges: c.Edges})
	}
	e.trace.Groups, e.trace.EagerLimits = f.groups, f.eagerLimits
}

// rows finds the rows that events refer to.
type rows struct {
	table  []byte   // the recording, up to the end of its tables
	kinds  []uint32 // index+1 of the kind, by row; 0 if not known yet
	order  binary.ByteOrder
	tables []layout.Segment // sorted by offset
	comms  map[uint32]int32
	same   []int32 // by communicator: the first one that is the same communicator
	of     *profile.Profile
	sites  map[uint64]string
	slices map[uint32]string
	all    []profile.EventKind
	roles  []role // by kind
	unlike map[profile.EventKind]uint32

	told       bool                 // whether tags of window calls have the details of layout.WindowDetails
	windowed   map[windowRow]uint32 // kinds of window calls
	latest     windowRow            // the row and tag that latestKind is for
	latestKind uint32
}

// windowRow is the row and the tag of an event of a call on a window.
type windowRow struct {
	row uint32
	tag int32
}

// load copies the tables of rows. The rest of the recording is not needed any
// more.
func (r *rows) load(p *profile.Profile, f *file) error {
	r.of, r.order, r.told, r.windowed = p, f.order, f.header.Version >= 7, map[windowRow]uint32{}
	r.sites, r.slices, r.unlike = map[uint64]string{}, map[uint32]string{}, map[profile.EventKind]uint32{}
	r.comms = map[uint32]int32{}
	for i, k := range slices.Sorted(maps.Keys(f.comms)) {
		if i < len(p.Comms) { // the file of a running process may have more communicators now
			r.comms[k] = int32(i)
		}
	}
	first := map[string]int32{}
	for i := range p.Comms {
		if _, met := first[p.Comms[i].ID]; !met {
			first[p.Comms[i].ID] = int32(i)
		}
		r.same = append(r.same, first[p.Comms[i].ID])
	}
	for _, s := range p.Slices {
		r.slices[s.Index] = s.Name
	}
	end := uint64(0)
	for at, s := range f.tables {
		end = max(end, at+s.Size)
	}
	table, err := f.bytes(0, end)
	if err != nil {
		return err
	}
	r.table = slices.Clone(table) // the memory of f is used again
	r.kinds = make([]uint32, end/rowSize)
	for at, s := range f.tables {
		s.Offset = at
		r.tables = append(r.tables, s)
	}
	slices.SortFunc(r.tables, func(a, b layout.Segment) int { return cmp.Compare(a.Offset, b.Offset) })
	return nil
}

const rowSize = 64

// errNoRow is returned for an event whose row is not in the recording.
var errNoRow = errors.New("an event refers to a row that does not exist")

// kind returns the index of the kind of a row's events.
func (r *rows) kind(row, thread uint32) (uint32, error) {
	if uint64(row) < uint64(len(r.kinds)) && r.kinds[row] != 0 {
		return r.kinds[row] - 1, nil
	}
	if !r.holds(uint64(row) * rowSize) {
		return 0, errNoRow
	}
	f := file{order: r.order}
	raw := f.row(r.table[uint64(row)*rowSize:][:rowSize])
	if raw.Call == 0 {
		return 0, errNoRow
	}
	k, err := r.kindOf(raw, thread)
	if err != nil {
		return 0, err
	}
	r.kinds[row] = r.index(k) + 1
	return r.kinds[row] - 1, nil
}

// window returns the kind of an event of a window call or of a communicator
// constructor: that of its row, with the details in the event's tag.
func (r *rows) window(of uint32, row uint32, tag int32) uint32 {
	at := windowRow{row, tag}
	if at == r.latest && row != 0 {
		return r.latestKind
	}
	kind, met := r.windowed[at]
	if !met {
		k := r.all[of]
		r.detail(&k, tag)
		kind = r.index(k)
		r.windowed[at] = kind
	}
	r.latest, r.latestKind = at, kind
	return kind
}

// detail adds the details in the tag to a kind.
func (r *rows) detail(k *profile.EventKind, tag int32) {
	if profile.MadeByMembers(k.Call) {
		if made, ok := r.comms[uint32(tag)-1]; ok && tag > 0 {
			k.Made = made + 1
		}
		return
	}
	if k.Comm < 0 { // the call failed, and the tag belongs to another call
		return
	}
	k.Window = tag / layout.WindowDetails
	detail, traits := tag%layout.WindowDetails, profile.TraitsOf(k.Call)
	switch {
	case traits.Any(profile.TraitLocks) && !traits.Any(profile.TraitAllTargets):
		k.Lock = profile.Lock(min(detail, int32(profile.ExclusiveLock)))
	case traits.Any(profile.TraitOpensAccess | profile.TraitOpensExposure):
		k.Group = detail
	}
}

// tellsWindow reports whether the events of a call name a window or a new
// communicator.
func tellsWindow(k *profile.EventKind) bool {
	return k.Class == profile.OneSided || k.Class == profile.Sync ||
		profile.TraitsOf(k.Call).Any(profile.TraitMakesWindow|profile.TraitFreesWindow|profile.TraitByMembers)
}

func (r *rows) holds(at uint64) bool {
	i, found := slices.BinarySearchFunc(r.tables, at, func(s layout.Segment, at uint64) int { return cmp.Compare(s.Offset, at) })
	if found || i == 0 {
		return false
	}
	table := r.tables[i-1]
	return (at-table.Offset)%rowSize == 0 && at+rowSize <= table.Offset+table.Size
}

func (r *rows) index(k profile.EventKind) uint32 {
	i, met := r.unlike[k]
	if !met {
		i = uint32(len(r.all))
		r.unlike[k] = i
		r.all = append(r.all, k)
		r.roles = append(r.roles, roleOf(&k, r.same))
	}
	return i
}

func (r *rows) kindOf(raw layout.Row, thread uint32) (profile.EventKind, error) {
	call := profile.CallByID(raw.Call)
	k := profile.EventKind{Call: call.Name, Class: call.Class, Thread: int32(thread), Comm: commIn(r.comms, raw.Comm), Peer: raw.Peer,
		Callsite: r.site(raw.Callsite), Slice: r.slice(raw.Slice)}
	switch {
	case raw.Peer >= 0 && k.Comm >= 0:
		k.Peer = int32(r.of.Comms[k.Comm].WorldRank(raw.Peer))
	case raw.Peer >= 0:
		k.Peer = profile.PeerLost
	}
	if d := directions[raw.Direction]; d.known {
		k.Direction = d.way
		if !d.calls {
			k.Action = profile.Moved
		}
		return k, nil
	}
	if raw.Direction == layout.DirPosted {
		k.Action = profile.Posted
		return k, nil
	}
	abnormal, ok := abnormalDirections[raw.Direction]
	if !ok {
		return k, fmt.Errorf("an event of a row with direction %d", raw.Direction)
	}
	k.Action, k.AbnormalKind = profile.Abnormal, abnormal
	return k, nil
}

func (r *rows) site(address uint64) string {
	label, met := r.sites[address]
	if !met {
		label = profile.SiteLabel(r.of.Frames(address))
		r.sites[address] = label
	}
	return label
}

func (r *rows) slice(index uint32) string {
	if name, ok := r.slices[index]; ok {
		return name
	}
	return fmt.Sprintf("slice %d", index)
}

// Trace returns what is known about the process.
func (e *EventReader) Trace() *profile.Trace { return &e.trace }

// batch is the largest number of events that f gets at once.
const batch = 1 << 16

// Each calls f with the events, in batches. It takes about 20 bytes of memory
// for each event of the process.
func (e *EventReader) Each(f func(*profile.Events, []profile.EventKind) error) error {
	r := eventReading{EventReader: e}
	defer r.close()
	if err := r.open(); err != nil {
		return err
	}
	return r.each(f)
}

func (r *eventReading) each(f func(*profile.Events, []profile.EventKind) error) error {
	from, l := 0, &r.links
	room := min(batch, len(l.kind))
	out := profile.Events{Start: make([]int64, 0, room), Duration: make([]int64, 0, room), Bytes: make([]uint64, 0, room)}
	give := func() error {
		to := from + out.Len()
		out.Kind, out.Tag, out.Link, out.Seq = l.kind[from:to], l.tag[from:to], l.link[from:to], l.seq[from:to]
		from = to
		err := f(&out, r.rows.all)
		out.Start, out.Duration, out.Bytes = out.Start[:0], out.Duration[:0], out.Bytes[:0]
		return err
	}
	err := r.eachRun(func(_ int, _ uint32, run []byte) error {
		if out.Len()+len(run)/eventSize > batch {
			if err := give(); err != nil {
				return err
			}
		}
		r.clock.times(&out, run)
		return nil
	})
	if err == nil && out.Len() > 0 {
		err = give()
	}
	return err
}

// times appends the times, bytes and tags of encoded events.
func (c Clock) times(to *profile.Events, run []byte) {
	for ; len(run) > 0; run = run[eventSize:] {
		e := decodeEvent(run, 0)
		start := c.time(e.start)
		to.Start = append(to.Start, start)
		to.Duration = append(to.Duration, max(c.time(e.end())-start, 0))
		to.Bytes = append(to.Bytes, e.bytes)
	}
}

// RemoveEvents removes the files of events next to a recording, after they were
// converted. Those in a container stay until it is packed.
func RemoveEvents(path string) error {
	if _, _, info := inContainer(path); info != nil {
		return nil
	}
	var all []error
	for _, name := range EventFiles(path) {
		all = append(all, os.Remove(name))
	}
	return errors.Join(all...)
}

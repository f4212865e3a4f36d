package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// text returns a string of the process.
func (f *file) text(key uint32) string { return valid(f.strings[key]) }

// profile converts the recording to a profile.
func (f *file) profile() *profile.Profile {
	if !f.headOnly {
		decodes.Add(1)
	}
	h := &f.header
	p := &profile.Profile{
		Run: f.text(layout.StringJob), Rank: int(h.WorldRank), Size: int(h.WorldSize),
		Host: f.text(layout.StringHost), Pid: int(h.Pid), PidNamespace: h.PidNamespace, Program: f.text(layout.StringProgram),
		Command: splitCommand(f.text(layout.StringCommand)),
		Library: strings.TrimRight(f.text(layout.StringLibrary), "\x00\n "),
		State:   profile.State(h.State), Timing: f.timing(), Unfollowed: f.unfollowed(), Threads: len(f.threads),
		Start: f.timeOf(h.Start), InitEnd: f.timeOf(h.InitEnd),
		FinalizeStart: f.timeOf(h.FinalizeStart), End: f.timeOf(h.FinalizeEnd), Clocks: f.checkClocks(),
		Losses: profile.Losses{Calls: h.LostCalls, Folded: h.FoldedCalls, Requests: h.LostRequests,
			Comms: h.LostComms, NegativeTicks: h.NegativeTicks, Untimed: h.UntimedCalls,
			Stacks: h.LostStacks, Readings: h.LostReadings},
		Pauses:      h.Pauses,
		Stacks:      f.stacks,
		Symbols:     f.names,
		Alone:       f.text(layout.StringAlone),
		Messages:    f.messages(),
		Intercepted: f.fileAndFunctions(layout.StringIntercepted), Direct: f.fileAndFunctions(layout.StringDirect),
	}
	f.receives.unfollowed = p.Unfollowed
	if p.State != profile.Finalized {
		f.receives.open = map[receiveKey]int64{}
	}
	scale := f.nsPerTick()
	index := f.addComms(p)
	for _, s := range f.slices {
		p.Slices = append(p.Slices, profile.Slice{Index: s.Index, Name: valid(s.name), Start: f.unixTime(s.Start, scale)})
	}
	for _, m := range f.modules {
		p.Modules = append(p.Modules, profile.Module{Path: m.path, BuildID: m.buildID,
			Start: m.Start, End: m.End, Bias: m.Bias})
	}
	for _, t := range f.threads {
		if !f.headOnly {
			f.addRows(p, t, index, scale)
		}
		if t.Last > h.Start.Ticks {
			f.latest = max(f.latest, f.unixTime(t.Last, scale))
		}
	}
	f.addUnsampled(p)
	f.addVectors(p, index)
	f.addCurrentCalls(p, index, scale)
	f.addTools(p, index, scale)
	f.addPlacement(p, scale)
	if !f.headOnly {
		f.addUnfinished(p, index)
	}
	if p.End == 0 {
		p.End = f.lastKnown(p)
	}
	p.Lifetimes = f.lifetimes(p, scale)
	p.ThreadUse = f.threadUse(p, scale)
	p.Problems = f.problems
	if f.damaged > maxProblems {
		p.Problems = append(p.Problems, fmt.Sprintf("and %d more", f.damaged-maxProblems))
	}
	p.Losses.Damaged += f.damaged
	return p
}

func splitCommand(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
}

// addComms adds the communicators. It returns their indices in the profile by
// their indices in the recording.
func (f *file) addComms(p *profile.Profile) map[uint32]int32 {
	index := map[uint32]int32{}
	order := slices.Sorted(maps.Keys(f.comms))
	for i, k := range order {
		index[k] = int32(i)
	}
	for _, k := range order {
		c := f.comms[k]
		out := profile.Comm{ID: fmt.Sprintf("%016x%016x", c.ID[0], c.ID[1]), Name: valid(c.name), Parent: commIn(index, c.Parent),
			Inter: c.Flags&layout.CommInter != 0, Rank: int(c.Rank), Edges: c.edges,
			Members: profile.Group{Base: int(c.Base), Stride: int(c.Stride), N: int(c.Size), List: c.members},
			Freed:   c.Flags&layout.CommFreed != 0, Folded: c.Folded,
			Found: c.Flags&layout.CommFound != 0, Fold: fmt.Sprintf("%016x%016x", c.FoldID[0], c.FoldID[1])}
		if c.remote != nil {
			out.Remote = profile.Group{N: len(c.remote), List: c.remote}
		}
		if c.Constructor != 0 {
			out.Constructor = profile.CallByID(uint16(c.Constructor)).Name
		}
		p.Comms = append(p.Comms, out)
	}
	return index
}

// directions maps recorded directions to their meaning: the direction in which
// bytes moved, and whether the row counts calls. Other directions are not known here. It is an
// array because each row is looked up.
var directions = [256]struct {
	way          profile.Direction
	calls, known bool
}{
	layout.DirNone: {profile.None, true, true}, layout.DirSend: {profile.Send, true, true}, layout.DirRecv: {profile.Recv, true, true},
	layout.DirRead: {profile.Read, true, true}, layout.DirWrite: {profile.Write, true, true},
	layout.DirRecvPosted: {profile.Recv, false, true}, layout.DirSendPosted: {profile.Send, false, true},
	layout.DirReadPosted: {profile.Read, false, true},
}

// addRows adds the rows of a thread's table, reading it in pieces.
func (f *file) addRows(p *profile.Profile, t layout.Thread, index map[uint32]int32, scale float64) {
	if t.Table == 0 {
		return
	}
	s, ok := f.tables[t.Table]
	size := uint64(binary.Size(layout.Row{}))
	start := uint64(binary.Size(layout.Segment{}))
	if !ok {
		f.problem(t.Table, "thread %d names a table that is not there", t.Index)
		return
	}
	rows := min(s.Rows, (s.Size-start)/size) // a truncated table has fewer rows
	firstSample, samples := f.samples(t.Table, s)
	enter := rowAdder{file: f, to: p, thread: int32(t.Index), comms: index, scale: scale}
	for from := uint64(0); from < rows; from += pieceRows {
		n, at := min(pieceRows, rows-from), t.Table+start+from*size
		piece, err := f.bytes(at, n*size)
		if err == nil && from < samples {
			f.rows = append(f.rows[:0], piece...) // the next read overwrites piece
			piece = f.rows
			enter.samples, err = f.bytes(firstSample+from*sampleSize, min(n, samples-from)*sampleSize)
		}
		if err != nil {
			f.problem(at, "%v", err)
			return
		}
		enter.add(piece, size, at)
		enter.samples = nil
	}
}

// pieceRows is the number of rows read at a time.
const pieceRows = 1024

// rowAdder adds the rows of one table to a profile.
type rowAdder struct {
	*file
	to      *profile.Profile
	thread  int32
	comms   map[uint32]int32
	scale   float64
	samples []byte // samples of the rows being added; may be truncated
}

// add adds rows of size bytes each, which are at offset at in the file.
func (a *rowAdder) add(rows []byte, size, at uint64) {
	n := a.used(rows, size)
	if a.to.Rows == nil && n > 0 {
		a.to.Rows, _ = rowMemory.Get().([]profile.Row)
	}
	a.to.Rows = slices.Grow(a.to.Rows, n)
	for i := uint64(0); i+size <= uint64(len(rows)); i += size {
		if a.order.Uint64(rows[i+rowCount:]) != 0 {
			a.addRow(a.row(rows[i:i+size]), i/size, at+i)
		}
	}
}

// rowMemory holds the rows of released profiles.
var rowMemory sync.Pool

// Release makes the memory of the rows of a profile, a quarter of what reading it takes,
// available for another one. The rows must not be used afterwards.
func Release(p *profile.Profile) {
	if p.Rows != nil {
		rowMemory.Put(p.Rows[:0])
		p.Rows = nil
	}
}

// rowCount is the offset of Count in a row.
const rowCount = 24

// used returns the number of rows, of size bytes each, that are not empty.
func (f *file) used(rows []byte, size uint64) int {
	n := 0
	for i := uint64(0); i+size <= uint64(len(rows)); i += size {
		if f.order.Uint64(rows[i+rowCount:]) != 0 {
			n++
		}
	}
	return n
}

// row decodes a row. It does not use reflection, since there may be millions of
// rows.
func (f *file) row(b []byte) layout.Row {
	if f.order == binary.LittleEndian { // usual; without the calls by interface it takes a third of the time
		return littleRow(b)
	}
	o := f.order
	return layout.Row{Callsite: o.Uint64(b), Comm: o.Uint32(b[8:]), Peer: int32(o.Uint32(b[12:])),
		Slice: o.Uint32(b[16:]), Call: o.Uint16(b[20:]), Direction: b[22], SizeClass: b[23],
		Count: o.Uint64(b[rowCount:]), Bytes: o.Uint64(b[32:]), Time: o.Uint64(b[40:]),
		Min: o.Uint64(b[48:]), Max: o.Uint64(b[56:])}
}

func littleRow(b []byte) layout.Row {
	o := binary.LittleEndian
	_ = b[63]
	return layout.Row{Callsite: o.Uint64(b), Comm: o.Uint32(b[8:]), Peer: int32(o.Uint32(b[12:])),
		Slice: o.Uint32(b[16:]), Call: o.Uint16(b[20:]), Direction: b[22], SizeClass: b[23],
		Count: o.Uint64(b[rowCount:]), Bytes: o.Uint64(b[32:]), Time: o.Uint64(b[40:]),
		Min: o.Uint64(b[48:]), Max: o.Uint64(b[56:])}
}

// addRow adds a row. number is its index among the rows of this call of add, at
// its offset in the file.
func (a *rowAdder) addRow(raw layout.Row, number, at uint64) {
	if raw.Call == 0 {
		return
	}
	call := profile.CallByID(raw.Call)
	a.receives.add(call.Name, call.Traits, raw)
	d := directions[raw.Direction]
	if !d.known && (a.addAbnormal(a.to, call.Name, raw, a.comms) || a.addLate(a.to, call.Name, raw, a.comms)) {
		return
	}
	if !d.known || raw.SizeClass >= profile.NumSizeClasses {
		a.problem(at, "row with direction %d and size class %d, skipped", raw.Direction, raw.SizeClass)
		return
	}
	r := profile.Row{Thread: a.thread, Call: call.Name, Class: call.Class, Direction: d.way, Comm: commIn(a.comms, raw.Comm), Peer: raw.Peer,
		SizeClass: raw.SizeClass, Callsite: raw.Callsite, Slice: raw.Slice}
	sample := a.addTime(&r, raw, number, at)
	if a.keepSamples {
		a.kept = append(a.kept, sample)
	}
	if d.calls {
		r.Calls = raw.Count
		if a.to.Timing == profile.TimingSampled && sample.Timed == 0 {
			a.unsampled = append(a.unsampled, len(a.to.Rows))
		}
	}
	if d.way != profile.None {
		moved(a.to, &r, call, raw)
	}
	a.to.Rows = append(a.to.Rows, r)
}

// addTime sets a row's times, and returns its sample if it has one. A row whose
// sample is truncated gets no times.
func (a *rowAdder) addTime(r *profile.Row, raw layout.Row, number, at uint64) (sample layout.Sample) {
	switch a.to.Timing {
	case profile.TimingOff:
		return sample
	case profile.TimingExact:
		r.TimeNs = ns(raw.Time, a.scale)
	case profile.TimingSampled:
		if (number+1)*sampleSize > uint64(len(a.samples)) {
			return sample
		}
		sample = a.sample(a.samples[number*sampleSize:])
		if !sane(sample) {
			a.problem(at, "row whose times have squares %g and %g: its time is left out", sample.EarlySquares, sample.Squares)
			return sample
		}
		addEstimate(r, raw, sample, a.scale)
	}
	r.MaxNs = ns(raw.Max, a.scale)
	if raw.Min <= raw.Max && raw.Time != 0 {
		r.MinNs = ns(raw.Min, a.scale)
	}
	return sample
}

// moved sets the spread, messages and bytes of a row. For a collective, a
// recording has one message, and a profile all messages that the process sends.
func moved(p *profile.Profile, r *profile.Row, call *profile.Call, raw layout.Row) {
	spread, fan, total := spreadOf(p, r, call)
	r.Spread, r.Messages, r.Bytes = spread, raw.Count*fan, raw.Bytes
	if r.Class == profile.IO {
		r.Messages = 0 // bytes to or from a file are not messages
	}
	if !total {
		r.Bytes *= fan
	}
}

// spreadOf returns which processes receive a row's messages and how many these are (fan). total is
// true if the recording has the bytes to all of them together, and false if it has the bytes to
// one.
func spreadOf(p *profile.Profile, r *profile.Row, call *profile.Call) (s profile.Spread, fan uint64, total bool) {
	if r.Comm < 0 {
		// this row has the calls for which there was no room, on any communicator
		return profile.ToNobody, 1, true
	}
	s = call.SpreadOf(r.Direction)
	received := r.Class == profile.AllToOne && r.Direction == profile.Recv
	// Rows of vector collectives, and of Gatherv's root, hold totals.
	gatherv := received && call.Traits.Any(profile.TraitIrregular)
	total = s == profile.ToVector || s == profile.ToEdgeVector || gatherv
	return s, uint64(p.Comms[r.Comm].FanOut(s)), total
}

func (f *file) addVectors(p *profile.Profile, index map[uint32]int32) {
	for _, v := range f.vectors {
		c, ok := index[v.Comm]
		if !ok || v.Count == 0 {
			continue
		}
		call := profile.CallByID(v.Call)
		p.Vectors = append(p.Vectors, profile.Vector{Thread: int32(v.Thread), Call: call.Name, Class: call.Class,
			Spread: call.Spread, Comm: c, Callsite: v.Callsite, Slice: v.Slice, Calls: v.Count, Bytes: v.bytes})
	}
}

// messages returns the lines that the library did not write to descriptor 2.
func (f *file) messages() []string {
	if f.header.Version < 9 {
		return nil
	}
	text := bytes.TrimRight(f.header.Messages[:], "\x00")
	if len(text) == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i := range lines {
		lines[i] = valid(strings.Trim(lines[i], "\x00"))
	}
	return lines
}

// fileAndFunctions returns the file and the functions that a string names, or
// nil.
func (f *file) fileAndFunctions(key uint32) *profile.FileAndFunctions {
	library, functions, ok := strings.Cut(f.text(key), "\n")
	if !ok {
		return nil
	}
	return &profile.FileAndFunctions{Library: library, Functions: strings.Split(functions, "\n")}
}

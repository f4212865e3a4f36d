package recording

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// maxRecord is the size of the longest record that is read, in bytes: the
// counts of a collective, or the members of a communicator, of tens of millions
// of processes.
const maxRecord = 256 << 20

// readLog reads the records of a log segment one by one, so that a wrong size
// takes no more memory than one record.
func (f *file) readLog(at, end uint64) {
	head := uint64(binary.Size(layout.Record{}))
	for at+head <= end {
		var r layout.Record
		if err := f.decode(at, &r); err != nil {
			f.problem(at, "%v", err)
			return
		}
		if r.Kind == 0 {
			return // the rest is not written yet
		}
		if uint64(r.Size) < head || uint64(r.Size) > end-at {
			f.problem(at, "record of %d bytes does not fit into its segment", r.Size)
			return
		}
		switch {
		case r.Size > maxRecord:
			f.problem(at, "record of %d bytes, more than %d, skipped", r.Size, maxRecord)
		case !f.headOnly || r.Kind != layout.RecordVector:
			buf, err := f.bytes(at, uint64(r.Size))
			if err != nil {
				f.problem(at, "%v", err)
				return
			}
			if err := f.readRecord(at, r.Kind, buf); err != nil {
				f.problem(at, "%v", err)
			}
		}
		at += uint64(r.Size)
	}
}

func (f *file) readRecord(at uint64, kind uint32, buf []byte) error {
	switch kind {
	case layout.RecordString:
		return f.readString(buf)
	case layout.RecordThread:
		return f.readThread(at, buf)
	case layout.RecordComm:
		return f.readComm(buf)
	case layout.RecordName:
		return f.readName(buf)
	case layout.RecordEdges:
		return f.readEdges(buf)
	case layout.RecordSlice:
		return f.readSlice(buf)
	case layout.RecordModule:
		return f.readModule(buf)
	case layout.RecordVector:
		return f.readVector(buf)
	case layout.RecordStack:
		return f.readStack(buf)
	case layout.RecordSetting:
		return f.readSetting(buf)
	case layout.RecordVariable:
		return f.readVariable(buf)
	case layout.RecordPvar:
		return f.readPvar(buf)
	case layout.RecordHandle:
		return f.readHandle(buf)
	case layout.RecordReading:
		return f.readReading(buf)
	case layout.RecordEagerLimit:
		return f.readEagerLimit(buf)
	case layout.RecordGroup:
		return f.readGroup(buf)
	case layout.RecordPlacement:
		return f.readPlacement(buf)
	case layout.RecordUsage:
		return f.readUsage(buf)
	}
	return fmt.Errorf("record of unknown kind %d, skipped", kind)
}

// head decodes the fixed part of a record and returns the rest.
func (f *file) head(buf []byte, v any) ([]byte, error) {
	n, err := binary.Decode(buf, f.order, v)
	if err != nil {
		return nil, fmt.Errorf("record of %d bytes is too short", len(buf))
	}
	return buf[n:], nil
}

// take removes n elements of the given width from the rest of a record.
func take(rest []byte, n uint32, width int) (taken, left []byte, err error) {
	if uint64(n)*uint64(width) > uint64(len(rest)) {
		return nil, nil, fmt.Errorf("%d elements do not fit into their record", n)
	}
	cut := int(n) * width
	return rest[:cut], rest[cut:], nil
}

func (f *file) int32s(raw []byte) []int32 {
	out := make([]int32, len(raw)/4)
	for i := range out {
		out[i] = int32(f.order.Uint32(raw[4*i:]))
	}
	return out
}

// readThread rejects a table that another thread names, whose rows would be
// counted twice.
func (f *file) readThread(at uint64, buf []byte) error {
	var t layout.Thread
	if f.header.Version < 5 {
		buf = append(slices.Clip(buf), make([]byte, openField)...)
	}
	rest, err := f.head(buf, &t)
	if err != nil {
		return err
	}
	if f.header.Version < 5 {
		t.Open = 0
	}
	if t.Table != 0 && f.named[t.Table] {
		return fmt.Errorf("thread %d names the table of another", t.Index)
	}
	f.named[t.Table] = true
	f.threads = append(f.threads, t)
	return f.readOpen(t, at+uint64(len(buf)-len(rest)), rest)
}

// openField is how many bytes longer a Thread is since version 5.
const openField = 8

// readOpen reads the call that a thread is in, which lies somewhere in what
// follows the thread in its record.
func (f *file) readOpen(t layout.Thread, at uint64, rest []byte) error {
	if t.Open == 0 {
		return nil
	}
	var o layout.Open
	from := t.Open - at
	if t.Open < at || from > uint64(len(rest)) || uint64(binary.Size(o)) > uint64(len(rest))-from {
		return fmt.Errorf("thread %d: its open call is not in its record", t.Index)
	}
	if _, err := f.head(rest[from:], &o); err != nil {
		return err
	}
	f.threads[len(f.threads)-1].Last = o.Last
	if o.Call != 0 {
		f.opens = append(f.opens, currentCall{o, t.Index})
	}
	return nil
}

func (f *file) readString(buf []byte) error {
	var s layout.String
	rest, err := f.head(buf, &s)
	if err != nil {
		return err
	}
	text, _, err := take(rest, s.Length, 1)
	f.strings[s.Key] = string(text)
	return err
}

func (f *file) readComm(buf []byte) error {
	c := &commRecord{}
	rest, err := f.head(buf, &c.Comm)
	if err != nil {
		return err
	}
	if c.Size > layout.MaxRankCount || c.RemoteSize > layout.MaxRankCount {
		return fmt.Errorf("communicator of %d and %d processes", c.Size, c.RemoteSize)
	}
	if c.Flags&layout.CommList == 0 && !f.inWorld(&c.Comm) {
		return fmt.Errorf("communicator of %d processes, %d + %d*i, in a world of %d", c.Size, c.Base, c.Stride, f.header.WorldSize)
	}
	var raw []byte
	if c.Flags&layout.CommList != 0 {
		if raw, rest, err = take(rest, c.Size, 4); err != nil {
			return err
		}
		c.members = f.int32s(raw)
	}
	if c.Flags&layout.CommRemote != 0 {
		if raw, _, err = take(rest, c.RemoteSize, 4); err != nil {
			return err
		}
		c.remote = f.int32s(raw)
	}
	f.comms[c.Index] = c
	return nil
}

// inWorld reports whether a strided list of members lies within the world. Such
// a list has no length that could be checked.
func (f *file) inWorld(c *layout.Comm) bool {
	world := int64(f.header.WorldSize)
	last := int64(c.Base) + int64(c.Stride)*(int64(c.Size)-1)
	return c.Size == 0 || int64(c.Size) <= world && c.Base >= 0 && int64(c.Base) < world && last >= 0 && last < world
}

func (f *file) readName(buf []byte) error {
	var n layout.Name
	rest, err := f.head(buf, &n)
	if err != nil {
		return err
	}
	text, _, err := take(rest, n.Length, 1)
	if c := f.comms[n.Index]; c != nil && err == nil {
		c.name = string(text)
	}
	return err
}

func (f *file) readEdges(buf []byte) error {
	var e layout.Edges
	rest, err := f.head(buf, &e)
	if err != nil {
		return err
	}
	raw, _, err := take(rest, e.Count, 4)
	if c := f.comms[e.Index]; c != nil && err == nil {
		c.edges = f.int32s(raw)
	}
	return err
}

func (f *file) readGroup(buf []byte) error {
	var g layout.Group
	rest, err := f.head(buf, &g)
	if err != nil {
		return err
	}
	raw, _, err := take(rest, g.Count, 4)
	if err != nil {
		return err
	}
	if g.Index == 0 || g.Index >= layout.WindowDetails {
		return fmt.Errorf("group %d is out of range", g.Index)
	}
	for len(f.groups) < int(g.Index) {
		f.groups = append(f.groups, nil)
	}
	f.groups[g.Index-1] = f.int32s(raw)
	return nil
}

func (f *file) readSlice(buf []byte) error {
	var s sliceRecord
	rest, err := f.head(buf, &s.Slice)
	if err != nil {
		return err
	}
	text, _, err := take(rest, s.Length, 1)
	s.name = string(text)
	if err != nil {
		return err
	}
	if at, known := f.sliceAt[s.Index]; known {
		f.slices[at].name = s.name // the slice was renamed
		return nil
	}
	f.sliceAt[s.Index] = len(f.slices)
	f.slices = append(f.slices, s)
	return nil
}

func (f *file) readModule(buf []byte) error {
	var m moduleRecord
	rest, err := f.head(buf, &m.Module)
	if err != nil {
		return err
	}
	id, rest, err := take(rest, m.BuildIDLength, 1)
	if err != nil {
		return err
	}
	path, _, err := take(rest, m.PathLength, 1)
	m.buildID, m.path = hex.EncodeToString(id), string(path)
	f.modules = append(f.modules, m)
	return err
}

func (f *file) readVector(buf []byte) error {
	var v vectorRecord
	rest, err := f.head(buf, &v.Vector)
	if err != nil {
		return err
	}
	raw, _, err := take(rest, v.Length, 8)
	if err != nil {
		return err
	}
	v.bytes = make([]uint64, v.Length)
	for i := range v.bytes {
		v.bytes[i] = f.order.Uint64(raw[8*i:])
	}
	f.vectors = append(f.vectors, v)
	return nil
}

func (f *file) readStack(buf []byte) error {
	var s layout.Stack
	rest, err := f.head(buf, &s)
	if err != nil {
		return err
	}
	if s.Depth > layout.MaxStackDepth {
		return fmt.Errorf("stack of %d addresses", s.Depth)
	}
	raw, _, err := take(rest, s.Depth, 8)
	if err != nil {
		return err
	}
	addresses := make([]uint64, s.Depth)
	for i := range addresses {
		addresses[i] = f.order.Uint64(raw[8*i:])
	}
	if f.stacks == nil {
		f.stacks = map[uint64][]uint64{}
	}
	f.stacks[layout.StackSite|uint64(s.ID)] = addresses
	return nil
}

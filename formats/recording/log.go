package recording

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"unsafe"

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
			read := recordReaders[r.Kind]
			if read == nil {
				f.problem(at, "record of unknown kind %d, skipped", r.Kind)
			} else if err := read(f, &record{at: at, rest: buf, order: f.order}); err != nil {
				f.problem(at, "%v", err)
			}
		}
		at += uint64(r.Size)
	}
}

// recordReaders read the records of each kind.
var recordReaders = map[uint32]func(*file, *record) error{
	layout.RecordString: (*file).readString, layout.RecordThread: (*file).readThread, layout.RecordComm: (*file).readComm,
	layout.RecordName: (*file).readName, layout.RecordEdges: (*file).readEdges, layout.RecordSlice: (*file).readSlice,
	layout.RecordModule: (*file).readModule, layout.RecordVector: (*file).readVector, layout.RecordStack: (*file).readStack,
	layout.RecordSetting: (*file).readSetting, layout.RecordVariable: (*file).readVariable, layout.RecordPvar: (*file).readPvar,
	layout.RecordHandle: (*file).readHandle, layout.RecordReading: (*file).readReading,
	layout.RecordEagerLimit: (*file).readEagerLimit, layout.RecordGroup: (*file).readGroup,
	layout.RecordPlacement: (*file).readPlacement, layout.RecordUsage: (*file).readUsage,
}

// readThread rejects a table that another thread names, whose rows would be
// counted twice.
func (f *file) readThread(r *record) error {
	var t layout.Thread
	if r.headOf(&t, f.threadSize()); r.err != nil {
		return r.err
	}
	if t.Table != 0 && f.named[t.Table] {
		return fmt.Errorf("thread %d names the table of another", t.Index)
	}
	f.named[t.Table] = true
	f.threads = append(f.threads, t)
	return f.readOpen(t, r)
}

// threadSize returns how many bytes of a Thread are valid: CPUTime and RunDelay only if the
// header has the number of threads.
func (f *file) threadSize() int {
	switch v := f.header.Version; {
	case v < 5:
		return int(unsafe.Offsetof(layout.Thread{}.Open))
	case v < 9:
		return int(unsafe.Offsetof(layout.Thread{}.First))
	case f.header.Threads == 0:
		return int(unsafe.Offsetof(layout.Thread{}.CPUTime))
	}
	return binary.Size(layout.Thread{})
}

// readOpen reads the call that a thread is in, which lies somewhere in what
// follows the thread in its record.
func (f *file) readOpen(t layout.Thread, r *record) error {
	if t.Open == 0 {
		return nil
	}
	var o layout.Open
	from := t.Open - r.at
	if t.Open < r.at || from > uint64(len(r.rest)) || uint64(binary.Size(o)) > uint64(len(r.rest))-from {
		return fmt.Errorf("thread %d: its open call is not in its record", t.Index)
	}
	r.take(uint32(from), 1)
	r.head(&o)
	f.threads[len(f.threads)-1].Last = o.Last
	if o.Call != 0 {
		f.opens = append(f.opens, currentCall{o, t.Index})
	}
	return nil
}

func (f *file) readString(r *record) error {
	var s layout.String
	r.head(&s)
	f.strings[s.Key] = r.text(s.Length)
	return r.err
}

func (f *file) readComm(r *record) error {
	c := &commRecord{}
	if r.head(&c.Comm); r.err != nil {
		return r.err
	}
	if c.Size > layout.MaxRankCount || c.RemoteSize > layout.MaxRankCount {
		return fmt.Errorf("communicator of %d and %d processes", c.Size, c.RemoteSize)
	}
	if c.Flags&layout.CommList == 0 && !f.inWorld(&c.Comm) {
		return fmt.Errorf("communicator of %d processes, %d + %d*i, in a world of %d", c.Size, c.Base, c.Stride, f.header.WorldSize)
	}
	if c.Flags&layout.CommList != 0 {
		c.members = r.int32s(c.Size)
	}
	if c.Flags&layout.CommRemote != 0 {
		c.remote = r.int32s(c.RemoteSize)
	}
	if r.err == nil {
		f.comms[c.Index] = c
	}
	return r.err
}

// inWorld reports whether a strided list of members lies within the world. Such
// a list has no length that could be checked.
func (f *file) inWorld(c *layout.Comm) bool {
	world := int64(f.header.WorldSize)
	last := int64(c.Base) + int64(c.Stride)*(int64(c.Size)-1)
	return c.Size == 0 || int64(c.Size) <= world && c.Base >= 0 && int64(c.Base) < world && last >= 0 && last < world
}

func (f *file) readName(r *record) error {
	var n layout.Name
	r.head(&n)
	name := r.text(n.Length)
	if c := f.comms[n.Index]; c != nil && r.err == nil {
		c.name = name
	}
	return r.err
}

func (f *file) readEdges(r *record) error {
	var e layout.Edges
	r.head(&e)
	edges := r.int32s(e.Count)
	if c := f.comms[e.Index]; c != nil && r.err == nil {
		c.edges = edges
	}
	return r.err
}

func (f *file) readGroup(r *record) error {
	var g layout.Group
	r.head(&g)
	ranks := r.int32s(g.Count)
	if r.err != nil {
		return r.err
	}
	if g.Index == 0 || g.Index >= layout.WindowDetails {
		return fmt.Errorf("group %d is out of range", g.Index)
	}
	for len(f.groups) < int(g.Index) {
		f.groups = append(f.groups, nil)
	}
	f.groups[g.Index-1] = ranks
	return nil
}

func (f *file) readSlice(r *record) error {
	var s sliceRecord
	r.head(&s.Slice)
	if s.name = r.text(s.Length); r.err != nil {
		return r.err
	}
	if at, known := f.sliceAt[s.Index]; known {
		f.slices[at].name = s.name // the slice was renamed
		return nil
	}
	f.sliceAt[s.Index] = len(f.slices)
	f.slices = append(f.slices, s)
	return nil
}

func (f *file) readModule(r *record) error {
	var m moduleRecord
	r.head(&m.Module)
	if m.buildID = hex.EncodeToString(r.take(m.BuildIDLength, 1)); r.err != nil {
		return r.err
	}
	m.path = r.text(m.PathLength)
	f.modules = append(f.modules, m)
	return r.err
}

func (f *file) readVector(r *record) error {
	var v vectorRecord
	r.head(&v.Vector)
	if v.bytes = r.uint64s(v.Length); r.err == nil {
		f.vectors = append(f.vectors, v)
	}
	return r.err
}

func (f *file) readStack(r *record) error {
	var s layout.Stack
	if r.head(&s); s.Depth > layout.MaxStackDepth {
		return fmt.Errorf("stack of %d addresses", s.Depth)
	}
	addresses := r.uint64s(s.Depth)
	if r.err != nil {
		return r.err
	}
	if f.stacks == nil {
		f.stacks = map[uint64][]uint64{}
	}
	f.stacks[layout.StackSite|uint64(s.ID)] = addresses
	return nil
}

// Package recordingtest writes recordings for tests, as the library would have
// written them. It shares no code with the reader.
package recordingtest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// WriteFile writes p as a recording, as the library would have written it.
// Reading the file returns p, except for what no recording contains (Source,
// Symbols, Problems and Losses.Damaged). Unused room is a hole in the file.
// WriteFile returns an error for a profile that a recording cannot represent.
func WriteFile(path string, p *profile.Profile) error {
	m, err := imageOf(p, false)
	if err != nil {
		return fmt.Errorf("write recording %s: %w", path, err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write recording: %w", err)
	}
	for _, piece := range m.pieces {
		_, failed := f.WriteAt(piece.raw, int64(piece.at))
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, f.Truncate(int64(m.size)), f.Close()); err != nil {
		os.Remove(path)
		return fmt.Errorf("write recording: %w", err)
	}
	return nil
}

// Record writes a profile as the recording of a process. If that fails, the test
// ends.
func Record(t testing.TB, path string, p *profile.Profile) {
	t.Helper()
	if err := WriteFile(path, p); err != nil {
		t.Fatal(err)
	}
}

// Write is like WriteFile, with zeros instead of holes.
func Write(w io.Writer, p *profile.Profile) error {
	raw, err := Append(nil, p)
	if err != nil {
		return err
	}
	if _, err := w.Write(raw); err != nil {
		return fmt.Errorf("write recording: %w", err)
	}
	return nil
}

// Append appends what Write writes to a buffer.
func Append(to []byte, p *profile.Profile) ([]byte, error) {
	m, err := imageOf(p, false)
	if err != nil {
		return to, fmt.Errorf("write recording: %w", err)
	}
	start := len(to)
	to = slices.Grow(to, int(m.size))[:start+int(m.size)]
	clear(to[start:])
	for _, piece := range m.pieces {
		copy(to[start+int(piece.at):], piece.raw)
	}
	return to, nil
}

// image is a recording before it is written.
type image struct {
	pieces  []piece // in the order of their offsets, with zeros between them
	size    uint64
	extents []uint64 // where each extent of a container ends; empty for a file of its own
}

type piece struct {
	at  uint64
	raw []byte
}

var order = binary.LittleEndian

// imageOf builds the file: the header, one log segment, and a table for each
// thread; for a container, in extents.
func imageOf(p *profile.Profile, extents bool) (*image, error) {
	if p.Timing >= profile.NumTimings {
		return nil, fmt.Errorf("timing %d: no recording holds it", p.Timing)
	}
	tables, err := tablesOf(p)
	if err != nil {
		return nil, err
	}
	log, err := logOf(p)
	if err != nil {
		return nil, err
	}
	segment, thread := uint64(binary.Size(layout.Segment{})), uint64(binary.Size(layout.Thread{})+binary.Size(layout.Open{}))
	logSize := pages(max(layout.MinLogSegment, segment+uint64(len(log.raw))+thread*uint64(len(tables))))
	m := &image{size: layout.HeaderSize + logSize}
	if extents {
		if m.extents = []uint64{layout.Granule - layout.ExtentSize}; m.size > m.extents[0] {
			return nil, fmt.Errorf("a log of %d bytes: the first extent has no room for it", logSize)
		}
	}
	for i := range tables {
		sampled := p.Timing == profile.TimingSampled
		m.makeRoom(tables[i].size(sampled))
		if err := log.addThread(p, uint32(i), m.size); err != nil {
			return nil, err
		}
		m.addTable(&tables[i], sampled)
	}
	head := appended(make([]byte, 0, layout.HeaderSize+int(segment)+len(log.raw)), headerOf(p, m.size))
	head = append(head, make([]byte, layout.HeaderSize-len(head))...)
	head = appended(head, layout.Segment{Magic: layout.SegmentMagic, Kind: layout.SegmentLog, Size: logSize, Offset: layout.HeaderSize})
	m.pieces = slices.Insert(m.pieces, 0, piece{0, append(head, log.raw...)})
	if p.State == profile.Finalized {
		m.seal()
	}
	return m, nil
}

// makeRoom begins an extent if the latest one has no room for a segment.
func (m *image) makeRoom(size uint64) {
	if len(m.extents) == 0 {
		return
	}
	end := m.extents[len(m.extents)-1]
	if m.size+size <= end {
		return
	}
	if rest := end - m.size; rest > 0 {
		m.pieces = append(m.pieces, piece{m.size, appended(nil,
			layout.Segment{Magic: layout.SegmentMagic, Kind: layout.SegmentFree, Size: rest, Offset: m.size})})
	}
	granules := (size + layout.ExtentSize + layout.Granule - 1) / layout.Granule
	m.size = end
	m.extents = append(m.extents, end+granules*layout.Granule-layout.ExtentSize)
}

// samplesAt returns the offset of a table's samples in its segment.
func (t *table) samplesAt() uint64 {
	return uint64(binary.Size(layout.Segment{})) + capacityFor(len(t.rows))*uint64(binary.Size(layout.Row{}))
}

// size returns the size of a table's segment.
func (t *table) size(sampled bool) uint64 {
	if sampled {
		return pages(t.samplesAt() + capacityFor(len(t.rows))*uint64(binary.Size(layout.Sample{})))
	}
	return pages(t.samplesAt())
}

// addTable appends a table's segment, with its samples if sampled is set.
func (m *image) addTable(t *table, sampled bool) {
	capacity, samples, size := capacityFor(len(t.rows)), t.samplesAt(), t.size(sampled)
	raw := appended(nil, layout.Segment{Magic: layout.SegmentMagic, Kind: layout.SegmentTable, Size: size, Rows: capacity, Offset: m.size})
	m.pieces = append(m.pieces, piece{m.size, appendRows(raw, t.rows)})
	if sampled {
		m.pieces = append(m.pieces, piece{m.size + samples, appended(nil, t.samples)})
	}
	m.size += size
}

// pages rounds up to whole pages, as the library maps them.
func pages(size uint64) uint64 { return (size + 4095) &^ 4095 }

// capacityFor returns the size of the table that the library makes for so many
// rows.
func capacityFor(rows int) uint64 {
	capacity := uint64(layout.MinTableRows)
	for uint64(rows) >= capacity-capacity/16 {
		capacity *= 2
	}
	return capacity
}

func appended(raw []byte, v any) []byte {
	raw, err := binary.Append(raw, order, v)
	if err != nil {
		panic(err) // cannot happen: the layout's types have a fixed size
	}
	return raw
}

// clockAt returns a reading of clocks that all show the time of day.
func clockAt(unixNs int64) layout.Clock {
	return layout.Clock{Ticks: uint64(unixNs), Monotonic: uint64(unixNs), Realtime: uint64(unixNs)}
}

var rawTiming = [profile.NumTimings]uint32{profile.TimingExact: layout.TimingExact,
	profile.TimingSampled: layout.TimingSampled, profile.TimingOff: layout.TimingOff}

func headerOf(p *profile.Profile, end uint64) layout.Header {
	h := layout.Header{Magic: layout.Magic, Version: layout.Version, ByteOrder: layout.ByteOrder,
		HeaderSize: layout.HeaderSize, State: uint32(p.State), End: end, WorldRank: int32(p.Rank),
		WorldSize: int32(p.Size), Pid: uint32(p.Pid), Clock: layout.ClockMonotonic,
		Start: clockAt(p.Start), InitEnd: clockAt(p.InitEnd), FinalizeStart: clockAt(p.FinalizeStart),
		LostCalls: p.Losses.Calls, FoldedCalls: p.Losses.Folded, LostRequests: p.Losses.Requests,
		LostComms: p.Losses.Comms, NegativeTicks: p.Losses.NegativeTicks, UntimedCalls: p.Losses.Untimed,
		LostStacks: p.Losses.Stacks, LostReadings: p.Losses.Readings, Pauses: p.Pauses, Timing: rawTiming[p.Timing],
		PidNamespace: p.PidNamespace}
	if u := p.ThreadUse; u != nil {
		h.Threads, h.BusyThreads = uint32(max(u.Busy, p.Threads)), uint32(u.Busy)
	}
	for _, line := range p.Messages {
		copy(h.Messages[bytes.IndexByte(h.Messages[:], 0):], line+"\n")
	}
	if p.Unfollowed {
		h.Receives = layout.ReceivesUnfollowed
	}
	if p.State == profile.Finalized {
		h.FinalizeEnd = clockAt(p.End)
	} else {
		h.Last = clockAt(p.End) // for a process that did not finalize, this is all that is known of its end
	}
	return h
}

// log holds the encoded records of a recording.
type log struct{ raw []byte }

// add appends a record. It sets the Record at the start of v.
func (l *log) add(kind uint32, v any, tails ...[]byte) {
	start := len(l.raw)
	l.raw = appended(l.raw, v)
	for _, tail := range tails {
		l.raw = append(l.raw, tail...)
	}
	for len(l.raw)%8 != 0 {
		l.raw = append(l.raw, 0)
	}
	order.PutUint32(l.raw[start:], uint32(len(l.raw)-start))
	order.PutUint32(l.raw[start+4:], kind)
}

// addThread appends a thread and its current call.
func (l *log) addThread(p *profile.Profile, index uint32, table uint64) error {
	t := layout.Thread{Index: index, Table: table, Last: uint64(p.End)}
	t.First = t.Last - lifetimeOf(p, index)
	addThreadUse(&t, p)
	i := slices.IndexFunc(p.Open, func(o profile.OpenCall) bool { return o.Thread == int32(index) })
	if i < 0 {
		l.add(layout.RecordThread, t)
		return nil
	}
	open, err := rawCurrentCall(&p.Open[i])
	if err != nil {
		return fmt.Errorf("thread %d: %w", index, err)
	}
	open.Last = t.Last
	t.Open = uint64(layout.HeaderSize + binary.Size(layout.Segment{}) + len(l.raw) + binary.Size(t))
	l.add(layout.RecordThread, t, appended(nil, open))
	return nil
}

// addThreadUse divides the CPU time and the run delay of a profile among its threads: each thread gets as
// much as fits into its lifetime. If lifetimes are not known, the thread that initialized MPI gets all.
func addThreadUse(t *layout.Thread, p *profile.Profile) {
	if p.ThreadUse == nil {
		return
	}
	share := func(total uint64) uint64 {
		if p.Lifetimes > 0 {
			before := uint64(0)
			for i := range t.Index {
				before += lifetimeOf(p, i)
			}
			return min(total-min(total, before), lifetimeOf(p, t.Index))
		}
		if t.Index == 0 {
			t.Flags |= layout.ThreadMain
			return total
		}
		return 0
	}
	t.CPUTime, t.RunDelay = share(p.ThreadUse.CPUNs), share(p.ThreadUse.DelayNs)
	if p.ThreadUse.Incomplete {
		t.Flags |= layout.ThreadUseUnknown
	}
}

// lifetimeOf returns the lifetime of a thread: all have the same, as a profile has the sum.
func lifetimeOf(p *profile.Profile, index uint32) uint64 {
	lifetime, threads := uint64(p.Lifetimes), uint64(max(p.Threads, 1))
	if index == 0 {
		return lifetime - (threads-1)*(lifetime/threads)
	}
	return lifetime / threads
}

func logOf(p *profile.Profile) (*log, error) {
	l := &log{}
	l.addStrings(p)
	for i := range p.Comms {
		if err := l.addComm(uint32(i), &p.Comms[i]); err != nil {
			return nil, err
		}
	}
	for _, s := range p.Slices {
		l.add(layout.RecordSlice, layout.Slice{Index: s.Index, Length: uint32(len(s.Name)), Start: uint64(s.Start)}, []byte(s.Name))
	}
	for _, m := range p.Modules {
		id, err := hex.DecodeString(m.BuildID)
		if err != nil {
			return nil, fmt.Errorf("module %s: build id: %w", m.Path, err)
		}
		l.add(layout.RecordModule, layout.Module{Bias: m.Bias, Start: m.Start, End: m.End,
			BuildIDLength: uint32(len(id)), PathLength: uint32(len(m.Path))}, id, []byte(m.Path))
	}
	for _, site := range slices.Sorted(maps.Keys(p.Stacks)) {
		l.add(layout.RecordStack, layout.Stack{ID: uint32(site), Depth: uint32(len(p.Stacks[site]))}, appended(nil, p.Stacks[site]))
	}
	for i := range p.Vectors {
		if err := l.addVector(&p.Vectors[i]); err != nil {
			return nil, err
		}
	}
	if err := l.addPlacement(p); err != nil {
		return nil, err
	}
	return l, l.addTools(p)
}

func (l *log) addStrings(p *profile.Profile) {
	command := ""
	for _, arg := range p.Command {
		command += arg + "\x00"
	}
	for _, s := range []struct {
		key  uint32
		text string
	}{{layout.StringHost, p.Host}, {layout.StringJob, p.Run}, {layout.StringCommand, command},
		{layout.StringProgram, p.Program}, {layout.StringLibrary, p.Library},
		{layout.StringIntercepted, fileAndFunctions(p.Intercepted)}, {layout.StringAlone, p.Alone},
		{layout.StringDirect, fileAndFunctions(p.Direct)}} {
		if s.text != "" {
			l.add(layout.RecordString, layout.String{Key: s.key, Length: uint32(len(s.text))}, []byte(s.text))
		}
	}
}

// fileAndFunctions is the inverse of file.fileAndFunctions.
func fileAndFunctions(i *profile.FileAndFunctions) string {
	if i == nil {
		return ""
	}
	return strings.Join(append([]string{i.Library}, i.Functions...), "\n")
}

func (l *log) addComm(index uint32, c *profile.Comm) error {
	r := layout.Comm{Index: index, Parent: layout.CommNone, Size: uint32(c.Members.Len()), Rank: uint32(c.Rank),
		Base: int32(c.Members.Base), Stride: int32(c.Members.Stride), Folded: c.Folded}
	if err := errors.Join(parseID(&r.ID, c.ID), parseID(&r.FoldID, c.Fold)); err != nil {
		return fmt.Errorf("communicator %d: %w", index, err)
	}
	if c.Parent >= 0 {
		r.Parent = uint32(c.Parent)
	}
	if c.Constructor != "" {
		call, ok := callNamed(c.Constructor)
		if !ok {
			return fmt.Errorf("communicator %d: made by %s, which is no call", index, c.Constructor)
		}
		r.Constructor = uint32(call.ID)
	}
	for _, flag := range []struct {
		set bool
		bit uint32
	}{{c.Inter, layout.CommInter}, {c.Freed, layout.CommFreed}, {c.Found, layout.CommFound},
		{c.Members.List != nil, layout.CommList}, {c.Remote.List != nil || c.Remote.N > 0, layout.CommRemote}} {
		if flag.set {
			r.Flags |= flag.bit
		}
	}
	remote := ranksOf(c.Remote)
	r.RemoteSize = uint32(len(remote))
	l.add(layout.RecordComm, r, appended(nil, c.Members.List), appended(nil, remote))
	if c.Name != "" {
		l.add(layout.RecordName, layout.Name{Index: index, Length: uint32(len(c.Name))}, []byte(c.Name))
	}
	if c.Edges != nil {
		l.add(layout.RecordEdges, layout.Edges{Index: index, Count: uint32(len(c.Edges))}, appended(nil, c.Edges))
	}
	return nil
}

// parseID parses an id of 32 hex digits. An unknown id is all zeros.
func parseID(id *[2]uint64, text string) error {
	if text == "" {
		return nil
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 16 {
		return fmt.Errorf("id %q is not 32 hex digits", text)
	}
	id[0], id[1] = binary.BigEndian.Uint64(raw), binary.BigEndian.Uint64(raw[8:])
	return nil
}

// ranksOf returns the members of a group as a list, which is how recordings
// store remote groups.
func ranksOf(g profile.Group) []int32 {
	if g.List != nil {
		return g.List
	}
	out := make([]int32, g.Len())
	for i := range out {
		out[i] = int32(g.At(i))
	}
	return out
}

func (l *log) addVector(v *profile.Vector) error {
	call, ok := callNamed(v.Call)
	if !ok || call.Spread != v.Spread || v.Comm < 0 {
		return fmt.Errorf("vector of %s: no recording holds it", strings.TrimSpace("MPI_"+v.Call))
	}
	l.add(layout.RecordVector, layout.Vector{Callsite: v.Callsite, Comm: uint32(v.Comm), Slice: v.Slice, Call: call.ID,
		Direction: layout.DirSend, Thread: uint32(v.Thread), Length: uint32(len(v.Bytes)), Count: v.Calls}, appended(nil, v.Bytes))
	return nil
}

// checksumAt is the offset of the checksum in the header.
const checksumAt = uint64(unsafe.Offsetof(layout.Header{}.Checksum))

// seal stores the checksum in the image of a process that ended.
func (m *image) seal() {
	sum, at := uint64(layout.ChecksumStart), uint64(0)
	add := func(word uint64) {
		sum = layout.Sum(sum, word)
		at += 8
	}
	for _, p := range m.pieces {
		for at < p.at { // a hole
			add(0)
		}
		for raw := p.raw; len(raw) >= 8; raw = raw[8:] {
			add(order.Uint64(raw))
		}
	}
	for at < m.size&^7 {
		add(0)
	}
	order.PutUint64(m.pieces[0].raw[checksumAt:], max(sum, 1))
}

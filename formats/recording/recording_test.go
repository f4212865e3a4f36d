package recording

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// builder writes a recording as the library does, for tests that need a certain
// shape. Two of its ticks are one nanosecond.
type builder struct {
	log     []byte
	rows    []layout.Row
	spoil   func(*layout.Header) // changes what the header says
	samples []layout.Sample
}

// record appends a log record. It fills in the Record at the start of v.
func (b *builder) record(kind uint32, v any, tail ...any) {
	body, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	for _, t := range tail {
		if body, err = binary.Append(body, binary.LittleEndian, t); err != nil {
			panic(err)
		}
	}
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	binary.LittleEndian.PutUint32(body, uint32(len(body)))
	binary.LittleEndian.PutUint32(body[4:], kind)
	b.log = append(b.log, body...)
}

func (b *builder) text(key uint32, s string) {
	b.record(layout.RecordString, layout.String{Key: key, Length: uint32(len(s))}, []byte(s))
}

// threadSize is the length in bytes of a thread's record before version 5.
const threadSize = 32

// bytes returns the file: header, log, a table of 256 rows (and as many
// samples, if there are any), and a stale table.
func (b *builder) bytes() []byte {
	const segment = 64
	logSize := uint64(segment + len(b.log) + 64)
	tableSize := uint64(segment + 256*64)
	if b.samples != nil {
		tableSize += 256 * 64
	}
	tableAt := layout.HeaderSize + logSize
	b.log = binary.LittleEndian.AppendUint32(b.log, threadSize)
	b.log = binary.LittleEndian.AppendUint32(b.log, layout.RecordThread)
	b.log, _ = binary.Append(b.log, binary.LittleEndian, [...]uint32{0, 0})
	b.log = binary.LittleEndian.AppendUint64(b.log, tableAt)
	b.log = binary.LittleEndian.AppendUint64(b.log, 2800) // ticks of the latest return

	h := layout.Header{Magic: layout.Magic, Version: 1, ByteOrder: layout.ByteOrder, HeaderSize: layout.HeaderSize,
		State: layout.StateFinalized, End: tableAt + 2*tableSize, WorldRank: 1, WorldSize: 4, Pid: 7,
		Clock:       layout.ClockTSC,
		Start:       layout.Clock{Ticks: 1000, Monotonic: 5000, Realtime: 1_000_000},
		FinalizeEnd: layout.Clock{Ticks: 3000, Monotonic: 6000, Realtime: 1_001_000}}
	if b.samples != nil {
		h.Version, h.Timing = 4, layout.TimingSampled
	}
	if b.spoil != nil {
		b.spoil(&h)
	}
	out, _ := binary.Append(nil, binary.LittleEndian, h)
	out = append(out, make([]byte, layout.HeaderSize-len(out))...)
	add := func(kind uint32, size, rows uint64, body []byte) {
		out, _ = binary.Append(out, binary.LittleEndian,
			layout.Segment{Magic: layout.SegmentMagic, Kind: kind, Size: size, Rows: rows})
		out = append(append(out, body...), make([]byte, size-segment-uint64(len(body)))...)
	}
	add(layout.SegmentLog, logSize, 0, b.log)
	var table []byte
	for _, r := range b.rows {
		table, _ = binary.Append(table, binary.LittleEndian, r)
	}
	if b.samples != nil {
		table = append(table, make([]byte, 256*64-len(table))...)
		table, _ = binary.Append(table, binary.LittleEndian, b.samples)
	}
	add(layout.SegmentTable, tableSize, 256, table)
	add(layout.SegmentFree, tableSize, 256, table) // outgrown: must not be counted again
	return out
}

// sample returns a profile of rank 1 of 4: a send to world rank 3 as rank 0 of
// a reversed sub-communicator {3, 1}, a receive, a Bcast as root, and an
// Alltoallv.
func sample() *builder {
	b := &builder{}
	b.text(layout.StringHost, "node7")
	b.text(layout.StringJob, "job9")
	b.text(layout.StringCommand, "app\x00-x\x00")
	world := layout.Comm{Index: 0, ID: [2]uint64{1, 2}, Parent: layout.CommNone, Size: 4, Rank: 1, Stride: 1}
	b.record(layout.RecordComm, world)
	b.record(layout.RecordName, layout.Name{Index: 0, Length: 14}, []byte("MPI_COMM_WORLD"))
	sub := layout.Comm{Index: 1, Flags: layout.CommList | layout.CommFreed, ID: [2]uint64{3, 4}, Constructor: 166, Size: 2, Rank: 1}
	b.record(layout.RecordComm, sub, []int32{3, 1})
	b.record(layout.RecordVector, layout.Vector{Comm: 0, Call: 79, Direction: layout.DirSend, Length: 4, Count: 2},
		[]uint64{10, 99, 20, 30})
	row := func(comm uint32, peer int32, call uint16, dir, class uint8, count, bytes, time uint64) {
		b.rows = append(b.rows, layout.Row{Callsite: 0x1234, Comm: comm, Peer: peer, Call: call, Direction: dir,
			SizeClass: class, Count: count, Bytes: bytes, Time: time, Min: time / max(count, 1), Max: time})
	}
	row(1, 0, 10, layout.DirSend, 4, 3, 30, 600)
	row(0, 2, 24, layout.DirRecvPosted, 3, 5, 20, 0)
	row(0, 1, 71, layout.DirSend, 4, 2, 16, 40)
	row(0, layout.PeerNone, 79, layout.DirSend, 5, 2, 60, 80)
	return b
}

func readPath(t testing.TB, path string) *profile.Profile {
	t.Helper()
	p, err := ReadFile(path)
	testenv.NoError(t, err)
	return p
}

func read(t *testing.T, raw []byte) *profile.Profile {
	t.Helper()
	p, err := Read(bytes.NewReader(raw), int64(len(raw)))
	testenv.NoError(t, err)
	return p
}

func TestRead(t *testing.T) {
	p := read(t, sample().bytes())
	if p.Rank != 1 || p.Size != 4 || p.Host != "node7" || p.Run != "job9" || p.State != profile.Finalized || p.Problems != nil {
		t.Errorf("%+v", p)
	}
	testenv.Equal(t, []string{"app", "-x"}, p.Command)
	want := []profile.Row{
		{Call: "Send", Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Comm: 1, Peer: 0, SizeClass: 4,
			Callsite: 0x1234, Calls: 3, Messages: 3, Bytes: 30, TimeNs: 300, MinNs: 100, MaxNs: 300},
		{Call: "Irecv", Class: profile.P2P, Direction: profile.Recv, Spread: profile.ToPeer, Comm: 0, Peer: 2, SizeClass: 3,
			Callsite: 0x1234, Messages: 5, Bytes: 20},
		{Call: "Bcast", Class: profile.OneToAll, Direction: profile.Send, Spread: profile.ToOthers, Comm: 0, Peer: 1, SizeClass: 4,
			Callsite: 0x1234, Calls: 2, Messages: 6, Bytes: 48, TimeNs: 20, MinNs: 10, MaxNs: 20},
		{Call: "Alltoallv", Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToVector, Comm: 0, Peer: -1, SizeClass: 5,
			Callsite: 0x1234, Calls: 2, Messages: 6, Bytes: 60, TimeNs: 40, MinNs: 20, MaxNs: 40},
	}
	testenv.Equal(t, want, p.Rows)
}

func TestReadTraffic(t *testing.T) {
	hist := profile.Histogram{4: 3}
	want := []profile.Flow{
		{Kind: profile.External, From: 1, To: 3, Bytes: 30, Messages: 3, Histogram: &hist},
		{Kind: profile.Collective, From: 1, To: 0, Bytes: 16 + 10, Messages: 4},
		{Kind: profile.Collective, From: 1, To: 2, Bytes: 16 + 20, Messages: 4},
		{Kind: profile.Collective, From: 1, To: 3, Bytes: 16 + 30, Messages: 4},
	}
	testenv.Equal(t, want, read(t, sample().bytes()).Traffic().Flows)
}

func TestReadBadFiles(t *testing.T) {
	good := sample().bytes()
	flip := func(at int, v byte) []byte {
		raw := bytes.Clone(good)
		raw[at] = v
		return raw
	}
	for _, c := range []struct {
		name, want string
		raw        []byte
	}{
		{"empty", "not a recording", nil},
		{"another file", "not a recording", []byte("hello, this is no recording at all")},
		{"cut inside the header", "truncated at byte 100", good[:100]},
		{"a version to come", fmt.Sprintf("version %d", layout.Version+1), flip(8, layout.Version+1)},
		{"a mixed byte order", "byte order", flip(13, 9)},
		{"a header of no size", "byte 16", flip(17, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(c.raw), int64(len(c.raw)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestReadKilled checks that a killed process ends where its latest call
// returned: 1800 ticks after the start, at two ticks per nanosecond.
func TestReadKilled(t *testing.T) {
	raw := sample().bytes()
	var h layout.Header
	if _, err := binary.Decode(raw, binary.LittleEndian, &h); err != nil {
		t.Fatal(err)
	}
	h.State, h.FinalizeEnd = layout.StateRunning, layout.Clock{}
	h.InitEnd = layout.Clock{Ticks: 2000, Monotonic: 5500, Realtime: 1_000_500}
	if _, err := binary.Encode(raw, binary.LittleEndian, h); err != nil {
		t.Fatal(err)
	}
	p := read(t, raw)
	if p.State != profile.Running || p.End != 1_000_900 || p.Rows[0].TimeNs != 300 {
		t.Errorf("state %v, end %d, time %d; want running, 1000900, 300", p.State, p.End, p.Rows[0].TimeNs)
	}
}

// If a file is cut anywhere behind its header, the rest is read, and the cut is
// reported with its place.
func TestReadTruncated(t *testing.T) {
	good := sample().bytes()
	for cut := layout.HeaderSize; cut < len(good); cut += 97 {
		p := read(t, good[:cut])
		if len(p.Problems) == 0 || p.Losses.Damaged == 0 {
			t.Fatalf("cut at %d: nothing was said", cut)
		}
	}
}

// A second recording in a file is reported. Reserved space and other data
// behind a recording are not.
func TestReadConcatenated(t *testing.T) {
	good := sample().bytes()
	twice := append(bytes.Clone(good), good...)
	want := []string{fmt.Sprintf("byte %d: another recording begins, which is not read: keep each in a file of its own", len(good))}
	for name, c := range map[string]struct {
		raw  []byte
		want []string
	}{
		"two":               {twice, want},
		"three":             {append(twice, good...), want},
		"the head of one":   {twice[:len(good)+8], want},
		"not even its head": {twice[:len(good)+7], nil},
		"room":              {append(bytes.Clone(good), make([]byte, 1<<16)...), nil},
	} {
		if p := read(t, c.raw); !slices.Equal(p.Problems, c.want) || p.Losses.Damaged != uint64(len(c.want)) {
			t.Errorf("%s: got %q, %d damaged; want %q", name, p.Problems, p.Losses.Damaged, c.want)
		}
		path := filepath.Join(t.TempDir(), "x.rec")
		testenv.WriteFile(t, path, c.raw)
		if p, err := ReadHead(path); err != nil || !slices.Equal(p.Problems, c.want) {
			t.Errorf("%s, its head alone: got %v, %v; want %q", name, p, err, c.want)
		}
	}
}

// The result does not depend on how much of a file is read ahead.
func TestReadAhead(t *testing.T) {
	good := sample().bytes()
	for _, raw := range [][]byte{good, good[:len(good)-20_000], good[:layout.HeaderSize+100]} {
		want := read(t, raw)
		for ahead := 0; ahead <= len(raw); ahead += 61 {
			f := newFile(bytes.NewReader(raw), int64(len(raw)))
			f.ahead = raw[:ahead]
			testenv.NoError(t, f.open())
			if diff := cmp.Diff(want, f.profile()); diff != "" {
				t.Fatalf("%d of %d bytes ahead: %s", ahead, len(raw), diff)
			}
		}
	}
}

func TestReadSurvivesFlippedBits(t *testing.T) {
	good := sample().bytes()
	for at := 0; at < len(good); at += 5 {
		raw := bytes.Clone(good)
		raw[at] ^= 0x81
		head := newFile(bytes.NewReader(raw), int64(len(raw)))
		if head.headOnly = true; head.open() == nil {
			head.profile()
		}
		if p, err := Read(bytes.NewReader(raw), int64(len(raw))); err == nil && p.Size < 1000 { // a large world is no lie that a reader can know
			p.Traffic()
		}
	}
}

// TestOpenOutside checks that a thread's open call is taken only from its own
// record.
func TestOpenOutside(t *testing.T) {
	p := killed()
	p.ThreadUse = &profile.ThreadUse{Busy: 1} // so that the whole layout.Thread is read
	var out bytes.Buffer
	testenv.NoError(t, recordingtest.Write(&out, p))
	raw := out.Bytes()
	if n := len(read(t, raw).Open); n != 3 {
		t.Fatalf("%d open calls, want 3", n)
	}
	thread, open := binary.Size(layout.Thread{}), int(unsafe.Offsetof(layout.Thread{}.Open))
	at := int(layout.HeaderSize) // of the first thread's record
	for at += binary.Size(layout.Segment{}); binary.LittleEndian.Uint32(raw[at+4:]) != layout.RecordThread; {
		at += int(binary.LittleEndian.Uint32(raw[at:]))
	}
	field := raw[at+open:]
	if got := binary.LittleEndian.Uint64(field); got != uint64(at+thread) {
		t.Fatalf("offset %d, want %d", got, at+thread)
	}
	for _, offset := range []uint64{1, uint64(at), uint64(at + thread - 1), uint64(at + thread + 1), uint64(len(raw)), 1<<64 - 1} {
		binary.LittleEndian.PutUint64(field, offset)
		got := read(t, raw)
		if len(got.Open) != 2 || len(got.Problems) != 1 {
			t.Errorf("offset %d: %d open calls, problems %q", offset, len(got.Open), got.Problems)
		}
	}
}

// A pipe with the name of a recording must not block the reader.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a-1-1.rec")
	testenv.NoError(t, syscall.Mkfifo(path, 0o600))
	for name, read := range map[string]func() error{
		"read": func() error { _, err := ReadFile(path); return err },
		"head": func() error { _, err := ReadHead(path); return err },
		"dump": func() error { return Dump(io.Discard, path) },
	} {
		if err := read(); err == nil || !strings.Contains(err.Error(), path+" is a named pipe, not a regular file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

package recording

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/tests/testenv"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// ends returns the offsets at which a part of a recording ends: the header, the
// segments and the records of the log.
func ends(raw []byte) []int {
	at := layout.HeaderSize
	out := []int{8, 16, binary.Size(layout.Header{}), at}
	segment := binary.Size(layout.Segment{})
	for at+segment <= len(raw) {
		size := int(binary.LittleEndian.Uint64(raw[at+8:]))
		out = append(out, at+segment)
		if binary.LittleEndian.Uint32(raw[at+4:]) == layout.SegmentLog {
			for record := at + segment; binary.LittleEndian.Uint32(raw[record+4:]) != 0; {
				record += int(binary.LittleEndian.Uint32(raw[record:]))
				out = append(out, record)
			}
		}
		at += size
		out = append(out, at)
	}
	return out
}

// FuzzReader checks that there is no panic, that memory is in proportion to the
// file, and that a file that was read gives the same profile when it is read
// again.
func FuzzReader(f *testing.F) {
	timed := sample()
	timed.samples = []layout.Sample{{Timed: 2, Squares: 200_000}, {}, {Timed: 2, Squares: 800}, {Timed: 1, Squares: 6400}}
	var open bytes.Buffer
	testenv.NoError(f, recordingtest.Write(&open, killed()))
	for _, good := range [][]byte{sample().bytes(), timed.bytes(), open.Bytes()} {
		f.Add(good)
		for _, end := range ends(good) {
			f.Add(good[:end])
			f.Add(good[:end-1])
			if end < len(good) {
				flipped := bytes.Clone(good)
				flipped[end] ^= 1 << (end / 8 % 8)
				f.Add(flipped)
			}
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var p *profile.Profile
		used := testenv.Allocated(func() { p, _ = Read(bytes.NewReader(raw), int64(len(raw))) })
		if most := uint64(4<<20 + 100*len(raw)); used > most { // some of it is the fuzzer's own
			t.Errorf("%d bytes of file took %d of memory", len(raw), used)
		}
		if p == nil {
			return
		}
		if p.Size < 1000 { // a large world is no lie that a reader can know
			p.Traffic()
		}
		writeAgain(t, p)
	})
}

// writeAgain checks that the writer keeps the sent data, and that its output
// reads back as the same profile. (The clocks of a damaged file may contradict
// each other; those of its copy do not.)
func writeAgain(t *testing.T, p *profile.Profile) {
	t.Helper()
	var one, two bytes.Buffer
	if len(p.Problems) > 0 || p.Size >= 1000 || recordingtest.Write(&one, p) != nil {
		return
	}
	first := read(t, one.Bytes())
	testenv.Equal(t, p.Traffic(), first.Traffic())
	if err := recordingtest.Write(&two, first); err != nil {
		t.Fatalf("written and read, it cannot be written: %v", err)
	}
	testenv.Equal(t, first, read(t, two.Bytes()))
}

// A table to which many records point would be read many times: a file of a
// megabyte would give a billion rows.
func TestTableOfTwoThreads(t *testing.T) {
	b := sample()
	want := len(read(t, b.bytes()).Rows)
	b = sample()
	for range 3 {
		b.record(layout.RecordThread, layout.Thread{Index: 1, Table: tableOf(t)})
	}
	p := read(t, b.bytes())
	if len(p.Rows) != want || len(p.Problems) != 3 || !strings.Contains(p.Problems[2], "thread 0 names the table of another") {
		t.Errorf("%d rows, want %d; problems %q", len(p.Rows), want, p.Problems)
	}
}

// TestManyProblemsAreCounted damages all of 5000 rows.
func TestManyProblemsAreCounted(t *testing.T) {
	f := file{}
	for i := range 5000 {
		f.problem(uint64(i), "row with a direction that is none")
	}
	p := f.profile()
	if p.Losses.Damaged != 5000 || len(p.Problems) != maxProblems+1 || p.Problems[maxProblems] != "and 4000 more" {
		t.Errorf("%d damaged, %d told, the last %q", p.Losses.Damaged, len(p.Problems), p.Problems[len(p.Problems)-1])
	}
}

// tableOf returns the offset of the table in a sample with three more threads.
func tableOf(t *testing.T) uint64 {
	t.Helper()
	b := sample()
	for range 3 {
		b.record(layout.RecordThread, layout.Thread{})
	}
	b.bytes()
	return uint64(layout.HeaderSize + binary.Size(layout.Segment{}) + len(b.log) - threadSize + 64)
}

// sparse returns a file with a hole: raw, followed by zeros up to size.
type sparse []byte

func (s sparse) ReadAt(p []byte, at int64) (int, error) {
	clear(p)
	if at < int64(len(s)) {
		copy(p, s[at:])
	}
	return len(p), nil
}

// A record may claim a length of 4 GB, in a file that has a hole of that size.
func TestRecordOfGigabytes(t *testing.T) {
	const size = 8 << 30
	raw := sample().bytes()
	first := layout.HeaderSize + binary.Size(layout.Segment{})
	binary.LittleEndian.PutUint32(raw[first:], 1<<32-8)
	binary.LittleEndian.PutUint64(raw[layout.HeaderSize+8:], size-layout.HeaderSize)
	var h layout.Header
	if _, err := binary.Decode(raw, binary.LittleEndian, &h); err != nil {
		t.Fatal(err)
	}
	h.End = size
	if _, err := binary.Encode(raw, binary.LittleEndian, h); err != nil {
		t.Fatal(err)
	}
	var p *profile.Profile
	used := testenv.Allocated(func() { p, _ = Read(sparse(raw), size) })
	if p == nil || len(p.Problems) == 0 || !strings.Contains(p.Problems[0], "byte 4160: record of 4294967288 bytes, more than") {
		t.Errorf("got %+v", p)
	}
	if used > 1<<20 {
		t.Errorf("allocated %d bytes", used)
	}
}

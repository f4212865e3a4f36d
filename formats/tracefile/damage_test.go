package tracefile

import (
	"bytes"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// readAll reads a file in memory.
func readAll(data []byte) (*jobs.Process, error) {
	r := bytes.NewReader(data)
	f, err := open(func(do func(io.ReaderAt, int64) error) error { return do(r, r.Size()) })
	if err != nil {
		return nil, err
	}
	l := traceOf(*f.Trace(), 100, f.kinds...)
	l.Events, _, err = collect(f)
	return l, err
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	good := write(t, random(1, 1000), 300, 1<<20)
	batch := int(opened(t, good).index.Batches[1].Offset)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":                {nil, "no Arrow file"},
		"text":                 {[]byte("# POINT TO POINT\n"), "no Arrow file"},
		"only the magic":       {[]byte(magic), "truncated after 6 bytes"},
		"cut in the middle":    {good[:len(good)/2], "truncated after"},
		"cut at the end":       {good[:len(good)-1], "truncated after"},
		"rewritten":            {rewritten(t, good), "not as mpitrace writes it"},
		"a bit of a batch":     {flipped(good, batch+100), "damaged: its checksum is"},
		"a bit of the head":    {flipped(good, 100), "checksum of schema and dictionaries"},
		"a bit of the footer":  {flipped(good, len(good)-100), "checksum of the index"},
		"a later version":      {resealed(t, good, func(x *index) { x.Format = "7" }), `format version "7"`},
		"no trace":             {resealed(t, good, func(x *index) { x.Trace = nil }), "the index has no trace"},
		"kinds that are not":   {resealed(t, good, func(x *index) { x.Kinds = x.Kinds[:1] }), "and there are 1"},
		"a class that is not":  {resealed(t, good, func(x *index) { x.Kinds[0][2] = 99 }), "kind 0 is of no"},
		"a text that is not":   {resealed(t, good, func(x *index) { x.Kinds[0][8] = 1 << 30 }), "kind 0 has text"},
		"rows beyond measure":  {resealed(t, good, func(x *index) { x.Batches[1].Rows = 1 << 40 }), "batch 1 has 1099511627776 rows"},
		"bytes beyond measure": {resealed(t, good, func(x *index) { x.Batches[1].Body = 1 << 40 }), "and 1099511627776 bytes"},
		"a batch of no rows":   {resealed(t, good, func(x *index) { x.Batches[1].Rows = 0 }), "batch 1 has 0 rows"},
		"a batch elsewhere":    {resealed(t, good, func(x *index) { x.Batches[1].Offset += 8 }), "batch 1 is from byte"},
		"a batch at the end":   {resealed(t, good, func(x *index) { x.Batches[0].Offset = math.MaxInt64 }), "batch 0 is from byte"},
		"a batch before":       {resealed(t, good, func(x *index) { x.Batches[0].Offset = -8 }), "batch 0 is from byte"},
		"a column elsewhere":   {resealed(t, good, func(x *index) { x.Batches[1].Parts[2][0] = 1 << 40 }), "batch 1: column 2 is"},
		"other rows":           {resealed(t, good, func(x *index) { x.Batches[1].Rows-- }), "column 0 is not of 299 values"},
		"an empty column":      {resealed(t, good, func(x *index) { x.Batches[1].Parts[2][1] = 0 }), "column 2 is not of 300 values"},
		"a column cut short":   {resealed(t, good, func(x *index) { x.Batches[1].Parts[2][1] -= 100 }), "damaged: column 2"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trace.3.arrow")
			testenv.WriteFile(t, path, c.data)
			f, err := Open(path)
			if err == nil {
				_, _, err = collect(f)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want one with the path and %q", err, c.want)
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.arrow")); err == nil || !strings.Contains(err.Error(), "none.arrow") {
		t.Errorf("missing file: error %v", err)
	}
}

// TestShrinks truncates a file after it was opened.
func TestShrinks(t *testing.T) {
	data := write(t, random(1, 1000), 300, 1<<20)
	path := saved(t, data)
	f, err := Open(path)
	testenv.NoError(t, err)
	testenv.NoError(t, os.Truncate(path, f.index.Batches[2].Offset+5))
	if _, _, err := collect(f); err == nil || !strings.Contains(err.Error(), "batch 2, at byte") || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("error %v", err)
	}
}

// rewritten returns a file as another program writes it, including its
// metadata.
func rewritten(t *testing.T, data []byte) []byte {
	t.Helper()
	in, err := ipc.NewFileReader(bytes.NewReader(data))
	testenv.NoError(t, err)
	batch, err := in.RecordAt(0)
	testenv.NoError(t, err)
	var out bytes.Buffer
	w, err := ipc.NewFileWriter(table.Position(&out), ipc.WithSchema(in.Schema()))
	if err == nil {
		err = w.Write(batch)
	}
	if err == nil {
		err = w.Close()
	}
	testenv.NoError(t, err)
	return out.Bytes()
}

// resealed returns a file with a changed index and correct checksums.
func resealed(t testing.TB, data []byte, change func(*index)) []byte {
	t.Helper()
	r := bytes.NewReader(data)
	x, err := readIndex(r, r.Size())
	testenv.NoError(t, err)
	_, at, _ := readSealed(r, r.Size())
	end, _ := table.FindFooter(r, r.Size())
	change(x)
	sealed, err := x.seal(data[end:])
	testenv.NoError(t, err)
	return append(append(bytes.Clone(data[:at]), sealed...), data[end:]...)
}

func flipped(data []byte, i int) []byte {
	bad := bytes.Clone(data)
	bad[i] ^= 1 << (i % 8)
	return bad
}

// few returns three events of two kinds.
func few() *jobs.Process {
	l := traceOf(testTrace, 2,
		profile.EventKind{Call: "Send", Direction: profile.Send, Peer: 1, Callsite: "f a.c:1", Slice: "run"},
		profile.EventKind{Call: "Barrier", Class: profile.AllToAll, Peer: profile.PeerNone, Callsite: "f a.c:2", Slice: "run"})
	l.AddOfKind(0, 10, 5, 8, 1, 0, 1)
	l.AddOfKind(1, 20, 5, 0, profile.NoTag, 0, 0)
	l.AddOfKind(0, 30, 5, 8, 1, 0, 2)
	return l
}

func TestEveryByteFlipped(t *testing.T) {
	good := write(t, few(), 2, 0)
	for i := range good {
		if _, err := readAll(flipped(good, i)); err == nil {
			t.Fatalf("bit %d of byte %d of %d flipped, and read all the same", i%8, i, len(good))
		}
	}
}

func TestEveryTruncation(t *testing.T) {
	good := write(t, few(), 2, 1<<20)
	for n := range good {
		if _, err := readAll(good[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a file", n, len(good))
		}
	}
}

// FuzzReader changes a byte of the batches and a byte of the index's text, and
// corrects the checksums, since otherwise readers would reject every change.
func FuzzReader(f *testing.F) {
	for seed, n := range []int{0, 1, 50} {
		f.Add(write(f, random(uint64(seed), n), 40, 2000*seed), uint32(100*n), byte(1), uint16(50*n), byte(8))
	}
	f.Add([]byte("ARROW1\x00\x00ARROW1"), uint32(0), byte(0), uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at uint32, xor byte, indexAt uint16, indexXor byte) {
		if l, err := readAll(data); err == nil {
			again, err := readAll(write(t, l, 77, 1000))
			if err != nil {
				t.Fatalf("accepted, written, and not read back: %v", err)
			}
			if diff := cmp.Diff(l.Events, again.Events); diff != "" {
				t.Errorf("accepted, but not read back equal:\n%s", diff)
			}
			if bad := mended(t, data, at, xor, indexAt, indexXor); bad != nil {
				readAll(bad) // must not panic
			}
		}
	})
}

// mended changes a byte of the batches and one of the index's text, and
// corrects the checksums.
func mended(t *testing.T, data []byte, at uint32, xor byte, indexAt uint16, indexXor byte) []byte {
	bad := bytes.Clone(data)
	bad[int(at)%len(bad)] ^= xor
	x, err := readIndex(bytes.NewReader(data), int64(len(data)))
	testenv.NoError(t, err)
	end, _ := table.FindFooter(bytes.NewReader(data), int64(len(data)))
	_, start, _ := readSealed(bytes.NewReader(data), int64(len(data)))
	rest := uint32(0)
	last := int64(0)
	for i := range x.Batches {
		b := &x.Batches[i]
		b.Sum = crc32.Checksum(bad[b.Offset:b.end()], castagnoli)
		rest = crc32.Update(rest, castagnoli, bad[last:b.Offset])
		last = b.end()
	}
	x.Rest = crc32.Update(rest, castagnoli, bad[last:start])
	text, err := x.text()
	testenv.NoError(t, err)
	text[int(indexAt)%len(text)] ^= indexXor
	return append(append(bad[:start:start], sealText(text, data[end:])...), data[end:]...)
}

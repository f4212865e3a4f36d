package table

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
)

func TestReadSaysWhatIsWrong(t *testing.T) {
	good := encode(t, tabletest.Job("run"))
	var comms bytes.Buffer
	if err := WriteComms(&comms, profile.List(tabletest.Job("run"))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":             {nil, "no Arrow file"},
		"text":              {[]byte("# POINT TO POINT\nE\t0\t1\t8 bytes\t1 msgs sent\n"), "no Arrow file"},
		"only the magic":    {[]byte("ARROW1"), "truncated after 6 bytes"},
		"cut in the middle": {good[:len(good)/2], "truncated after"},
		"cut at the end":    {good[:len(good)-1], "truncated after"},
		"a table not ours":  {foreignFile(t, nil), "not as mpitrace writes it"},
		"rewritten":         {rewrite(t, good), "not as mpitrace writes it"},
		"the old format":    {bytes.Replace(good, []byte("MPT2"), []byte("MPTR"), 1), "written in format version 1"},
		"a bit flipped":     {flipped(good, len(good)/2), "damaged: its checksum is"},
		"communicators":     {comms.Bytes(), "holds the table of communicators"},
		"other columns":     {otherColumns(t), "0 columns thread"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.arrow")
			if err := os.WriteFile(path, c.data, 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := Read(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want one with the path and %q", err, c.want)
			}
		})
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.arrow")); err == nil || !strings.Contains(err.Error(), "none.arrow") {
		t.Errorf("missing file: error %v", err)
	}
}

// foreignFile returns a small Arrow file with one column, as other programs
// write it.
func foreignFile(t *testing.T, meta map[string]string) []byte {
	t.Helper()
	md := arrow.MetadataFrom(meta)
	schema := arrow.NewSchema([]arrow.Field{{Name: "calls", Type: arrow.PrimitiveTypes.Uint64}}, &md)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Uint64Builder).Append(1)
	return writeBatch(t, b.NewRecord())
}

// otherColumns returns a file with that column as mpitrace writes it.
func otherColumns(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := newArrowTable(&out, tableProfile, []Column[uint64]{Numbers("calls", "calls", "a number", func(n uint64) uint64 { return n })})
	if err := errors.Join(w.start(), w.arrow.add(slices.Values([]uint64{1})), w.close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func writeBatch(t *testing.T, batch arrow.Record) []byte {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "other.arrow"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := ipc.NewFileWriter(file, ipc.WithSchema(batch.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// rewrite reads a file and writes it again, including its metadata, as a user
// of an Arrow library might.
func rewrite(t *testing.T, data []byte) []byte {
	t.Helper()
	batch, err := open(t, data).RecordAt(0)
	if err != nil {
		t.Fatal(err)
	}
	return writeBatch(t, batch)
}

func flipped(data []byte, i int) []byte {
	bad := bytes.Clone(data)
	bad[i] ^= 1 << (i % 8)
	return bad
}

func TestEveryByteFlipped(t *testing.T) {
	good := encode(t, tabletest.Job("run")[:1])
	for i := range good {
		if _, err := readBytes(flipped(good, i)); err == nil {
			t.Fatalf("bit %d of byte %d flipped, and read all the same", i%8, i)
		}
	}
}

func TestEveryTruncation(t *testing.T) {
	good := encode(t, tabletest.Job("run")[:1])
	for n := range good {
		if _, err := readBytes(good[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a file", n, len(good))
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(encode(f, tabletest.Job("run")[:1]))
	f.Add(encode(f, tabletest.Job("run")))
	f.Add(encode(f, nil))
	f.Add([]byte("ARROW1\x00\x00ARROW1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ps, err := readBytes(data)
		if err != nil {
			return
		}
		for _, p := range ps {
			p.Traffic()
		}
		again, err := readBytes(encode(t, ps))
		if err != nil {
			t.Fatalf("accepted, written, and not read back: %v", err)
		}
		if diff := cmp.Diff(ps, again); diff != "" && len(ps) > 0 {
			t.Errorf("accepted, but not read back equal:\n%s", diff)
		}
	})
}

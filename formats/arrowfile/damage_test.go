package arrowfile

import (
	"bytes"
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

	"github.com/mpitrace/mpitrace/profile"
)

func TestReadSaysWhatIsWrong(t *testing.T) {
	good := encode(t, testJob("run"))
	var comms bytes.Buffer
	if err := WriteComms(&comms, testJob("run")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":              {nil, "not an Arrow file"},
		"text":               {[]byte("# POINT TO POINT\nE\t0\t1\t8 bytes\t1 msgs sent\n"), "not an Arrow file"},
		"only the magic":     {[]byte("ARROW1"), "truncated after 6 bytes"},
		"cut in the middle":  {good[:len(good)/2], "truncated after"},
		"cut at the end":     {good[:len(good)-1], "truncated after"},
		"a table not ours":   {foreignFile(t, nil), "not as mpitrace writes it"},
		"rewritten":          {rewrite(t, good), "not as mpitrace writes it"},
		"a bit flipped":      {flipped(good, len(good)/2), "damaged: its checksum is"},
		"communicators":      {comms.Bytes(), "it is the table of communicators"},
		"a later version":    {sealedFile(t, map[string]string{keyFormat: "2"}), `format version "2", this reads version "1"`},
		"header of nonsense": {sealedFile(t, map[string]string{keyTable: tableProfile, keyProfiles: "{"}), "unexpected end of JSON"},
		"other columns":      {sealedFile(t, map[string]string{keyTable: tableProfile, keyProfiles: "{}"}), "0 columns thread"},
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

// foreignFile is a small Arrow file with one column, as other programs write it.
func foreignFile(t *testing.T, meta map[string]string) []byte {
	t.Helper()
	md := arrow.MetadataFrom(meta)
	schema := arrow.NewSchema([]arrow.Field{{Name: "calls", Type: arrow.PrimitiveTypes.Uint64}}, &md)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Uint64Builder).Append(1)
	return writeBatch(t, b.NewRecord())
}

// sealedFile is one with that column as we write it.
func sealedFile(t *testing.T, meta map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	cols := []column[uint64]{uint64Column("calls", "calls", "a number", func(n uint64) uint64 { return n })}
	if err := write(&out, meta, cols, slices.Values([]uint64{1})); err != nil {
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

// rewrite reads a file and writes it again, metadata and all, as a user of an
// Arrow library might.
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
	good := encode(t, testJob("run")[:1])
	for i := range good {
		if _, err := read(bytes.NewReader(flipped(good, i)), int64(len(good))); err == nil {
			t.Fatalf("bit %d of byte %d flipped, and read all the same", i%8, i)
		}
	}
}

func TestEveryTruncation(t *testing.T) {
	good := encode(t, testJob("run")[:1])
	for n := range good {
		if _, err := read(bytes.NewReader(good[:n]), int64(n)); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a file", n, len(good))
		}
	}
}

// A header may be well-formed and still say what no profile can be made of.
func TestHeaderChecked(t *testing.T) {
	for name, text := range map[string]string{
		"no program":      `{"processes":[{"program":0}]}`,
		"negative rows":   `{"programs":[{}],"processes":[{"rows":-1}]}`,
		"no communicator": `{"programs":[{}],"processes":[{"communicators":[{"communicator":3}]}]}`,
		"no parent":       `{"programs":[{}],"communicators":[{}],"processes":[{"communicators":[{"parent":5}]}]}`,
		"endless group":   `{"programs":[{}],"communicators":[{"members":{"n":1000000000000}}],"processes":[{"communicators":[{"parent":-1}]}]}`,
		"no file":         `{"programs":[{}],"processes":[{"modules":[{"file":0}]}]}`,
	} {
		if _, err := parseHeader(text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encode(f, testJob("run")[:1]))
	f.Add(encode(f, testJob("run")))
	f.Add(encode(f, nil))
	f.Add([]byte("ARROW1\x00\x00ARROW1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ps, err := read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, p := range ps {
			p.Traffic()
		}
		again, err := read(bytes.NewReader(encode(t, ps)), int64(len(encode(t, ps))))
		if err != nil {
			t.Fatalf("accepted, written, and not read back: %v", err)
		}
		if diff := cmp.Diff(ps, again); diff != "" && len(ps) > 0 {
			t.Errorf("accepted, but not read back equal:\n%s", diff)
		}
	})
}

// FuzzHeader goes past the seal, which keeps FuzzRead away from the header.
func FuzzHeader(f *testing.F) {
	for _, p := range testJob("run") {
		meta, err := headerOf([]*profile.Profile{p})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(meta[keyProfiles])
	}
	f.Fuzz(func(t *testing.T, text string) {
		head, err := parseHeader(text)
		if err != nil {
			return
		}
		for i := range head.Processes {
			if p, err := head.profile(&head.Processes[i]); err == nil {
				p.Traffic()
			}
		}
	})
}

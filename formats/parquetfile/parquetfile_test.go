package parquetfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/parquet/file"
	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/facts/factstest"
	"github.com/mpitrace/mpitrace/profile"
)

func encode(t testing.TB, ps []*profile.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, profile.List(ps)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readBytes(data []byte) (ps []*profile.Profile, err error) {
	err = container.Read(bytes.NewReader(data), int64(len(data)), func(p *profile.Profile) error {
		ps = append(ps, p)
		return nil
	})
	return ps, err
}

func TestRoundTrip(t *testing.T) {
	for name, ps := range map[string][]*profile.Profile{
		"one rank":    factstest.Job("run")[2:3],
		"two jobs":    append(factstest.Job("second"), factstest.Job("first")...),
		"settings":    factstest.Settings("run"),
		"physical":    factstest.Physical("run"),
		"no rows":     {{Run: "empty", Rank: -1, Size: -1, State: profile.Running}},
		"no profiles": nil,
	} {
		t.Run(name, func(t *testing.T) {
			back, err := readBytes(encode(t, ps))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ps, back); diff != "" {
				t.Errorf("profiles (-written +read):\n%s", diff)
			}
		})
	}
}

// Files of format version 2 have no column time_error_ns, and no nulls in time_ns.
func TestOldVersion(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "version-2.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	ps, err := readBytes(data)
	if err != nil || len(ps) != 1 || len(ps[0].Rows) != 15 {
		t.Fatalf("%d profiles, %v", len(ps), err)
	}
	if p := ps[0]; p.Timing != profile.TimingExact || p.Unfollowed || p.Rows[1].TimeNs != 3000 || p.Rows[1].TimeErrorNs != 0 {
		t.Errorf("timing %v, unfollowed %v, %+v", p.Timing, p.Unfollowed, p.Rows[1])
	}
}

func TestMetadata(t *testing.T) {
	in, err := file.NewParquetReader(bytes.NewReader(encode(t, factstest.Settings("run")[1:2])))
	if err != nil {
		t.Fatal(err)
	}
	meta := in.MetaData().KeyValueMetadata()
	for key, want := range map[string]string{"mpitrace.timing": "sampled", "mpitrace.receives": "off"} {
		if got := meta.FindValue(key); got == nil || *got != want {
			t.Errorf("%s: %v, want %s", key, got, want)
		}
	}
}

// Row groups that end within a process, with texts that others do not have, and
// one column of nothing but nulls.
func TestManyGroups(t *testing.T) {
	ps := factstest.Job("run")
	for _, p := range ps[:2] {
		for i := range p.Rows {
			p.Rows[i].MinNs, p.Rows[i].MaxNs = 0, 0
		}
	}
	for _, rows := range []int{7, 15, 16, 59, 60, 61} {
		var out bytes.Buffer
		if err := write(&out, profile.List(ps), rows); err != nil {
			t.Fatal(err)
		}
		back, err := readBytes(out.Bytes())
		if err != nil {
			t.Fatalf("groups of %d rows: %v", rows, err)
		}
		if diff := cmp.Diff(ps, back); diff != "" {
			t.Errorf("groups of %d rows:\n%s", rows, diff)
		}
	}
}

// More values than the reader takes at once, and than a page holds.
func TestManyPages(t *testing.T) {
	p := factstest.Profile("run", 0)
	for i := range 3*chunkRows + 5 {
		r := p.Rows[1]
		r.Callsite, r.Bytes, r.TimeNs, r.Call = r.Callsite+uint64(i), uint64(i)<<40, uint64(i*i), strings.Repeat("x", i%100)
		if i%3 == 0 {
			r.MinNs, r.MaxNs = 0, 0
		}
		p.Rows = append(p.Rows, r)
	}
	back, err := readBytes(encode(t, []*profile.Profile{p}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Rows, back[0].Rows); diff != "" {
		t.Errorf("rows:\n%s", diff)
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	good := encode(t, factstest.Job("run"))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":             {nil, "no Parquet file"},
		"text":              {[]byte("E\t0\t1\t8 bytes\t1 msgs sent\n"), "no Parquet file"},
		"only the magic":    {[]byte("PAR1"), "truncated after 4 bytes"},
		"cut in the middle": {good[:len(good)/2], "truncated after"},
		"without its seal":  {[]byte("PAR1footer\x06\x00\x00\x00PAR1"), "not as mpitrace writes it"},
		"a bit flipped":     {flipped(good, len(good)/2), "damaged: its checksum is"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.parquet")
			if err := os.WriteFile(path, c.data, 0o666); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path)
			if err == nil {
				err = f.Each(func(*profile.Profile) error { return nil })
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want one with the path and %q", err, c.want)
			}
		})
	}
}

func flipped(data []byte, i int) []byte {
	bad := bytes.Clone(data)
	bad[i] ^= 1 << (i % 8)
	return bad
}

func TestEveryByteFlipped(t *testing.T) {
	good := encode(t, factstest.Job("run")[:1])
	for i := range good {
		if _, err := readBytes(flipped(good, i)); err == nil {
			t.Fatalf("bit %d of byte %d flipped, and read all the same", i%8, i)
		}
	}
}

func TestEveryTruncation(t *testing.T) {
	good := encode(t, factstest.Job("run")[:1])
	for n := range good {
		if _, err := readBytes(good[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were read as a file", n, len(good))
		}
	}
}

// full is a disk with so much room.
type full struct{ left int }

var errFull = errors.New("disk full")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// The library drops some errors of what it writes into, and panics on others.
func TestDiskFull(t *testing.T) {
	ps := profile.List(factstest.Job("run"))
	size := len(encode(t, ps))
	for room := 0; room < size; room += 997 {
		if err := Write(&full{room}, ps); !errors.Is(err, errFull) {
			t.Fatalf("room for %d of %d bytes: error %v", room, size, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encode(f, factstest.Job("run")[:1]))
	f.Add(encode(f, factstest.Job("run")))
	f.Add(encode(f, nil))
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ps, err := readBytes(data)
		if err != nil {
			return
		}
		again, err := readBytes(encode(t, ps))
		if err != nil {
			t.Fatalf("accepted, written, and not read back: %v", err)
		}
		if diff := cmp.Diff(ps, again); diff != "" {
			t.Errorf("accepted, but not read back equal:\n%s", diff)
		}
	})
}

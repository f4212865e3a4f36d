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

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// FuzzReader reads damaged tables: no panic, bounded memory, and an error names the file.
func FuzzReader(f *testing.F) {
	path := writeRun(f, jobs.Readings("one"))
	tables := []string{"profile", "ranks", "comms", "vectors", "pvars"}
	for i, name := range tables {
		data := testenv.ReadFile(f, filepath.Join(filepath.Dir(path), name+".arrow"))
		f.Add(data, uint8(i), uint16(0), byte(0))
		for at := len(data) - 1; at > 0; at -= 1999 { // the footer is at the end
			f.Add(data, uint8(i), uint16(at), byte(1+at%255))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, of uint8, at uint16, flip byte) {
		name := tables[int(of)%len(tables)]
		path := filepath.Join(filepath.Dir(path), name+".arrow")
		whole, err := os.ReadFile(path)
		testenv.NoError(t, err)
		defer os.WriteFile(path, whole, 0o666)
		data = bytes.Clone(data)
		if len(data) > 0 {
			data[int(at)%len(data)] ^= flip
		}
		testenv.WriteFile(t, path, data)
		used := testenv.Allocated(func() {
			var file *File
			if file, err = Open(filepath.Join(filepath.Dir(path), "profile.arrow")); err == nil {
				err = file.Each(func(*profile.Profile) error { return nil })
			}
		})
		if most := uint64(64<<20 + 4*expansion*len(data)); used > most {
			t.Errorf("%d bytes took %d of memory", len(data), used)
		}
		if err != nil && !strings.Contains(err.Error(), ".arrow") {
			t.Errorf("an error without the file: %v", err)
		}
	})
}

// TestRankTwice has two processes of one rank, as a damaged table may have.
func TestRankTwice(t *testing.T) {
	ps := jobs.Full("run")
	twice := *ps[1]
	twice.Rows, twice.Vectors = nil, nil
	got := read(t, writeRun(t, slices.Insert(slices.Clone(ps), 2, &twice)))
	if len(got) != len(ps)+1 || len(got[1].Comms) != len(got[2].Comms) {
		t.Errorf("%d processes, want %d", len(got), len(ps)+1)
	}
}

// TestMissingTables removes tables: what can be placed is placed, and the calls that
// cannot are named.
func TestMissingTables(t *testing.T) {
	for _, test := range []struct {
		missing []string
		untold  []string // parts of the lines
	}{
		{[]string{"vectors"}, []string{"vectors.arrow", "Alltoallv (12 messages)", "Neighbor_alltoallv (7 messages)"}},
		{[]string{"comms"}, []string{"comms.arrow", "Bcast (3 messages)", "Neighbor_alltoall (14 messages)", "Neighbor_alltoallv (7 messages)"}},
		{[]string{"ranks"}, nil},
		{[]string{"comms", "ranks", "vectors"}, []string{"Allreduce (120 messages)", "Scan (6 messages)", "Alltoallv (12 messages)"}},
	} {
		t.Run(strings.Join(test.missing, ","), func(t *testing.T) {
			ps := jobs.Full("run")
			path := writeRun(t, ps)
			for _, name := range test.missing {
				testenv.NoError(t, os.Remove(filepath.Join(filepath.Dir(path), name+".arrow")))
			}
			got := read(t, path)
			untold := strings.Join(got[len(got)-1].Untold, "\n")
			for _, part := range test.untold {
				if !strings.Contains(untold, part) {
					t.Errorf("untold %q, want %q", untold, part)
				}
			}
			if (untold != "") != (test.untold != nil) {
				t.Errorf("untold %q", untold)
			}
			// Point-to-point messages and remote accesses need no other table.
			want, have := cells(ps), cells(got)
			for cell, v := range want {
				if strings.Contains(cell, "/1/") || strings.Contains(cell, "/3/") || strings.HasSuffix(cell, "/rows") {
					if have[cell] != v {
						t.Errorf("%s: %v, want %v", cell, have[cell], v)
					}
				}
			}
		})
	}
}

// rewrite writes columns of a table to a file.
func rewrite(t *testing.T, path string, keep func(name string) bool) {
	t.Helper()
	data := testenv.ReadFile(t, path)
	in, err := ipc.NewFileReader(bytes.NewReader(data))
	testenv.NoError(t, err)
	batch, err := in.RecordAt(0)
	testenv.NoError(t, err)
	var fields []arrow.Field
	var cols []arrow.Array
	for i, f := range batch.Schema().Fields() {
		if keep(f.Name) {
			fields, cols = append(fields, f), append(cols, batch.Column(i))
		}
	}
	var out bytes.Buffer
	schema := arrow.NewSchema(fields, nil)
	w, err := ipc.NewFileWriter(table.Position(&out), ipc.WithSchema(schema), ipc.WithAllocator(memory.DefaultAllocator))
	if err == nil {
		err = w.Write(array.NewRecord(schema, cols, batch.NumRows()))
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile(path, out.Bytes(), 0o666)
	}
	testenv.NoError(t, err)
}

// TestMissingColumns removes one column after the other: it is an error that names the
// column, or the default that its table states.
func TestMissingColumns(t *testing.T) {
	ps := jobs.Full("run")
	for i := range table.ProfileColumns {
		c := &table.ProfileColumns[i]
		path := writeRun(t, ps)
		rewrite(t, path, func(name string) bool { return name != c.Name })
		f, err := Open(path)
		var got []*profile.Profile
		if err == nil {
			err = f.Each(func(p *profile.Profile) error { got = append(got, p); return nil })
		}
		switch {
		case c.Absent == table.Required && (err == nil || !strings.Contains(err.Error(), "column "+c.Name) || !strings.Contains(err.Error(), path)):
			t.Errorf("without %s: error %v", c.Name, err)
		case c.Absent != table.Required && err != nil:
			t.Errorf("without %s: %v", c.Name, err)
		case c.Absent != table.Required && len(got) != len(ps):
			t.Errorf("without %s: %d processes", c.Name, len(got))
		}
	}
}

// TestNeededColumns reads a file of the needed columns alone.
func TestNeededColumns(t *testing.T) {
	ps := jobs.Full("")
	path := writeRun(t, ps)
	needed := func(name string) bool {
		return slices.ContainsFunc(table.ProfileColumns, func(c table.Column[table.Fact]) bool { return c.Name == name && c.Absent == table.Required })
	}
	rewrite(t, path, needed)
	want, got := cells(ps), cells(read(t, path))
	for cell, v := range want {
		if strings.Contains(cell, "/1/") && got[cell] != v { // point to point
			t.Errorf("%s: %v, want %v", cell, got[cell], v)
		}
	}
}

package table

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
)

// gobbed returns what is decoded from the encoded value.
func gobbed[T any](t *testing.T, v *T) *T {
	t.Helper()
	var buffer bytes.Buffer
	out := new(T)
	if err := errors.Join(gob.NewEncoder(&buffer).Encode(v), gob.NewDecoder(&buffer).Decode(out)); err != nil {
		t.Fatal(err)
	}
	return out
}

// dictionariesOf returns the dictionaries of processes. It notes them in
// reversed order, in groups of n.
func dictionariesOf(t *testing.T, ps []*profile.Profile, n int) *Dictionaries {
	t.Helper()
	v := NewVocabulary()
	for _, p := range ps {
		v.NoteProcess(p)
	}
	backwards := slices.Clone(ps)
	slices.Reverse(backwards)
	for group := range slices.Chunk(backwards, n) {
		r := NewReducer()
		for _, p := range group {
			symbols := p.Symbols
			kept := r.Reduce(p)
			if kept == nil {
				continue
			}
			kept = gobbed(t, kept)
			kept.Symbols = symbols
			if err := v.Note(kept); err != nil {
				t.Fatal(err)
			}
		}
	}
	return gobbed(t, v.Dictionaries())
}

// units writes units of n processes.
func units(t *testing.T, ps []*profile.Profile, n int, d *Dictionaries) UnitSource {
	t.Helper()
	var files [][]byte
	first := 0
	u := NewUnitWriter(d)
	for group := range slices.Chunk(ps, n) {
		var out bytes.Buffer
		u.Start(&out, first)
		for _, p := range group {
			if err := u.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := u.End(); err != nil {
			t.Fatal(err)
		}
		first += len(group)
		files = append(files, out.Bytes())
	}
	return func(f func(*io.SectionReader) error) error {
		for _, file := range files {
			if err := f(io.NewSectionReader(bytes.NewReader(file), 0, int64(len(file)))); err != nil {
				return err
			}
		}
		return nil
	}
}

// arrowText returns the schema and the values of an Arrow file, as texts.
func arrowText(t *testing.T, data []byte) (schema string, columns [][]string) {
	t.Helper()
	in, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	columns = make([][]string, in.Schema().NumFields())
	for i := range in.NumRecords() {
		batch, err := in.RecordAt(i)
		if err != nil {
			t.Fatal(err)
		}
		for c, column := range batch.Columns() {
			for row := range column.Len() {
				text := column.ValueStr(row)
				if words, ok := column.(*array.Dictionary); ok && !column.IsNull(row) {
					text = words.Dictionary().ValueStr(words.GetValueIndex(row))
				}
				columns[c] = append(columns[c], text)
			}
		}
	}
	return in.Schema().String(), columns
}

// The tables that are joined from units are those that are written from all
// processes at once, whatever the sizes of the units.
func TestJoinUnits(t *testing.T) {
	var all []*profile.Profile
	for _, ps := range [][]*profile.Profile{tabletest.Job("first"), tabletest.Settings("second"), tabletest.Killed("third"),
		tabletest.Physical("fourth"), tabletest.Readings("fifth"), {{Run: "empty", Rank: -1, Size: -1, State: profile.Running}}} {
		all = append(all, ps...)
	}
	for i, p := range all {
		p.Source = fmt.Sprintf("recordings/%d.rec", i)
	}
	for name, ps := range map[string][]*profile.Profile{"all": all, "none": nil, "one": all[:1]} {
		var want [4]bytes.Buffer
		for i, write := range []func(io.Writer, profile.Source) error{WriteProfile, WriteComms, WriteRanks, WritePvars} {
			if err := write(&want[i], profile.List(ps)); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range []int{1, 2, 3, 7, 1000} {
			t.Run(fmt.Sprintf("%s in units of %d", name, n), func(t *testing.T) {
				d := dictionariesOf(t, ps, n)
				var got [4]bytes.Buffer
				if err := JoinUnits(&got[0], &got[1], &got[2], &got[3], d, units(t, ps, n, d)); err != nil {
					t.Fatal(err)
				}
				for i := range got {
					wantSchema, wantColumns := arrowText(t, want[i].Bytes())
					schema, columns := arrowText(t, got[i].Bytes())
					if diff := cmp.Diff(wantSchema, schema); diff != "" {
						t.Errorf("schema of table %d (-at once +joined):\n%s", i, diff)
					}
					if diff := cmp.Diff(wantColumns, columns); diff != "" {
						t.Errorf("table %d (-at once +joined):\n%s", i, diff)
					}
				}
				checkReadBack(t, want[0].Bytes(), got[0].Bytes())
				for i := range got {
					checkBlocks(t, want[i].Bytes()) // made by the Arrow library
					checkBlocks(t, got[i].Bytes())
				}
				for i, table := range []string{tableProfile, tableComms, tableRanks, tablePvars} {
					if err := check(save(t, got[i].Bytes()), table); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// checkBlocks requires that the footer of an Arrow file gives the positions and
// sizes of all messages: they follow each other up to the mark of the end.
func checkBlocks(t *testing.T, raw []byte) {
	t.Helper()
	at, err := FindFooter(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	footer, number := raw[at:], binary.LittleEndian.Uint32
	table := number(footer)
	vtable := table - number(footer[table:])
	next := uint64(0)
	for field := range uint32(2) { // dictionaries, record batches: fields 2 and 3 of Footer in Arrow's File.fbs
		place := table + uint32(binary.LittleEndian.Uint16(footer[vtable+4+2*(2+field):]))
		vector := place + number(footer[place:])
		for i := range number(footer[vector:]) { // of Block{offset int64, metaDataLength int32, padding, bodyLength int64}
			block := footer[vector+4+24*i:]
			offset := binary.LittleEndian.Uint64(block)
			if next != 0 && offset != next {
				t.Errorf("block %d of field %d begins at byte %d, the previous one ended at %d", i, 2+field, offset, next)
			}
			next = offset + uint64(number(block[8:])) + binary.LittleEndian.Uint64(block[16:])
		}
	}
	if end := raw[min(next, uint64(len(raw))):]; !bytes.HasPrefix(end, endOfStream) {
		t.Errorf("no end of the stream at byte %d, where the last block ends", next)
	}
}

func checkReadBack(t *testing.T, want, got []byte) {
	t.Helper()
	was, err := readBytes(want)
	if err != nil {
		t.Fatal(err)
	}
	is, err := readBytes(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("profiles (-at once +joined):\n%s", diff)
	}
}

// A profile with a word that no dictionary has is an error, not another word.
func TestUnitWithUnknownWord(t *testing.T) {
	ps := tabletest.Job("run")
	d := dictionariesOf(t, ps, 10)
	for name, change := range map[string]func(*profile.Profile){
		"call":         func(p *profile.Profile) { p.Rows[0].Call = "Other" },
		"host":         func(p *profile.Profile) { p.Host = "elsewhere" },
		"communicator": func(p *profile.Profile) { p.Comms[0].Name = "other" },
		"program":      func(p *profile.Profile) { p.Size = 99 },
	} {
		p := tabletest.Profile("run", 1)
		change(p)
		u := NewUnitWriter(d)
		u.Start(io.Discard, 0)
		if err := u.Add(p); !errors.Is(err, errChanged) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// Reducing a second process of the same program leaves nothing of it.
func TestReduce(t *testing.T) {
	r := NewReducer()
	ps := tabletest.Job("run")
	if got := r.Reduce(ps[1]); got == nil || len(got.Rows) == 0 {
		t.Fatalf("the first process: %v", got)
	}
	if got := r.Reduce(tabletest.Profile("run", 1)); got != nil {
		t.Errorf("the same process again: %+v", got)
	}
	other := tabletest.Profile("run", 1)
	other.Rows[2].Call = "Ssend"
	if got := r.Reduce(other); got == nil || len(got.Rows) != 1 || got.Rows[0].Call != "Ssend" {
		t.Errorf("a process with another call: %+v", got)
	}
}

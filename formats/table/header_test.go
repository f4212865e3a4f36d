package table

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/formats/table/tabletest"
	"github.com/mpitrace/mpitrace/profile"
)

// list is a rowSource of rows whose columns are not in the file.
type list []profile.Row

func (l *list) next(rows []profile.Row) ([]profile.Row, error) {
	if len(*l) == 0 {
		return rows, io.EOF
	}
	n := min(len(*l), 7)
	rows, *l = append(rows, (*l)[:n]...), (*l)[n:]
	return rows, nil
}

func (l *list) close() error { return nil }

func listOf(ps []*profile.Profile) func(io.ReaderAt, int64) (rowSource, error) {
	var rows list
	for _, p := range ps {
		rows = append(rows, p.Rows...)
		rows = append(rows, internalRows(p)...)
	}
	return func(io.ReaderAt, int64) (rowSource, error) {
		left := rows
		return &left, nil
	}
}

// writeSealed returns a file with a header.
func writeSealed(t testing.TB, end func(s *sealer, finish func() error) error) []byte {
	t.Helper()
	var out bytes.Buffer
	s := newSealer(&out)
	s.Write([]byte(magic))
	if err := end(s, func() error {
		_, err := s.Write(append(binary.LittleEndian.AppendUint32([]byte("footer"), 6), magic...))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func encodeHeader(t testing.TB, ps []*profile.Profile) []byte {
	t.Helper()
	return writeSealed(t, func(s *sealer, finish func() error) error {
		h := new(header)
		for _, p := range ps {
			if err := h.Add(p); err != nil {
				return err
			}
		}
		return s.Close(h, tableProfile, finish)
	})
}

func readWith(open func(io.ReaderAt, int64) (rowSource, error), data []byte) (ps []*profile.Profile, err error) {
	err = readProfiles(bytes.NewReader(data), int64(len(data)), open, func(p *profile.Profile) error {
		ps = append(ps, p)
		return nil
	})
	return ps, err
}

func TestHeaderRoundTrip(t *testing.T) {
	ps := slices.Concat(tabletest.Job("one"), tabletest.Settings("two"), tabletest.Killed("three"),
		tabletest.Physical("four"))
	got, err := readWith(listOf(ps), encodeHeader(t, ps))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ps, got); diff != "" {
		t.Errorf("profiles (-written +read):\n%s", diff)
	}
}

func TestRowsThatDoNotFit(t *testing.T) {
	ps := tabletest.Job("run")
	data := encodeHeader(t, ps)
	for want, rows := range map[string][]*profile.Profile{"unexpected EOF": ps[:3], "more rows than": append(ps, ps[0])} {
		if _, err := readWith(listOf(rows), data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestHeaderOfAnother(t *testing.T) {
	for want, common := range map[string]string{
		`format version "4", this reads versions "2" and "3"`: `{"format":"4"}`,
		"unexpected end of JSON":                              "{",
		"holds the table of ranks":                            `{"format":"3","table":"ranks"}`,
	} {
		data := writeSealed(t, func(s *sealer, finish func() error) error {
			return s.close(0, packer().EncodeAll([]byte(common), nil), finish)
		})
		if _, err := readWith(listOf(nil), data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestListsAreShared checks that a communicator with a list of members is in
// the header once, even if many processes have it.
func TestListsAreShared(t *testing.T) {
	members := make([]int32, 1000)
	for i := range members {
		members[i] = int32(i*i) % 1009
	}
	h := new(header)
	for rank := range 100 {
		p := tabletest.Profile("run", rank%4)
		p.Comms[tabletest.Reversed].Members.List = append([]int32(nil), members...)
		if err := h.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	// The world, the split, both sides of the intercommunicator, the ring.
	if n := len(h.comms.all); n != 5 {
		t.Errorf("%d communicators, want 5", n)
	}
}

func TestSettings(t *testing.T) {
	var s Settings
	if got := s.Metadata(); got != nil {
		t.Errorf("of no process: %q", got)
	}
	for _, p := range tabletest.Settings("run") {
		s.Note(p)
	}
	want := map[string]string{"mpitrace.timing": "exact,off,sampled", "mpitrace.receives": "off,on"}
	if diff := cmp.Diff(want, s.Metadata()); diff != "" {
		t.Error(diff)
	}
}

// TestHeaderChecked reads headers that are well-formed but do not describe a
// valid profile.
func TestHeaderChecked(t *testing.T) {
	for name, c := range map[string]struct{ common, process string }{
		"no program":      {`{}`, `{"program":0}`},
		"negative rows":   {`{"programs":[{}]}`, `{"rows":-1}`},
		"no communicator": {`{"programs":[{}]}`, `{"communicators":[{"communicator":3}]}`},
		"no such timing":  {`{"programs":[{}]}`, `{"timing":"sometimes"}`},
		"late in nothing": {`{"programs":[{}]}`, `{"late":[{"communicator":0}]}`},
		"no parent":       {`{"programs":[{}],"communicators":[{}]}`, `{"communicators":[{"parent":5}]}`},
		"endless group":   {`{"programs":[{}],"communicators":[{"members":{"n":1000000000000}}]}`, `{}`},
		"endless own":     {`{"programs":[{}]}`, `{"communicators":[{"parent":-1,"own":{"members":{"n":1000000000000}}}]}`},
		"no file":         {`{"programs":[{}]}`, `{"modules":[{"file":0}]}`},
		"no file named":   {`{"programs":[{}],"places":[{"file":0}]}`, `{}`},
	} {
		common, err := parseShared([]byte(c.common))
		if err == nil {
			_, err = common.parseProcess([]byte(c.process))
		}
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// FuzzHeader fuzzes the header without a seal, which would reject all changes.
func FuzzHeader(f *testing.F) {
	for _, p := range tabletest.Job("run") {
		b := new(header)
		if err := b.Add(p); err != nil {
			f.Fatal(err)
		}
		block := bytes.Clone(b.block)
		if _, common, err := b.finish(tableProfile); err == nil {
			text, _ := unpacker().DecodeAll(common, nil)
			f.Add(text, block)
		}
	}
	f.Fuzz(func(t *testing.T, common, block []byte) {
		head, err := parseShared(common)
		if err != nil {
			return
		}
		blocks := bytes.NewReader(appendPart(nil, packer().EncodeAll(block, nil)))
		rows := rowReader{next: func([]profile.Row) ([]profile.Row, error) { return make([]profile.Row, 64), nil }}
		eachProcess(io.NewSectionReader(blocks, 0, blocks.Size()), head, func(info *processInfo, keys []byte) error {
			if p, err := rows.profile(head, info, keys); err == nil {
				p.Traffic()
			}
			return nil
		})
	})
}

package recording

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// The index of a packed container has the place and the Head of each recording.
// It begins with the number of different strings and the strings; then come the
// number of recordings and, of each, the fields in the order of encodeIndex.
// Integers are varints; a string is the number of one at the start.

// Bits of a recording's flags in an index.
const (
	flagFinalized = 1 << iota
	flagReadings
	flagStackAuto
	flagUnreadable
	flagChecked // of the member
)

func flagsOf(m *member) (flags uint64) {
	h := m.head
	for bit, set := range map[uint64]bool{flagFinalized: h.Finalized, flagReadings: h.Readings,
		flagStackAuto: h.StackAuto, flagUnreadable: h.Unreadable, flagChecked: m.checked} {
		if set {
			flags |= bit
		}
	}
	return flags
}

// indexWriter encodes an index.
type indexWriter struct {
	texts  []string
	number map[string]uint64
	out    []byte // the recordings
}

func (w *indexWriter) uints(values ...uint64) {
	for _, v := range values {
		w.out = binary.AppendUvarint(w.out, v)
	}
}

func (w *indexWriter) ints(values ...int64) {
	for _, v := range values {
		w.out = binary.AppendVarint(w.out, v)
	}
}

func (w *indexWriter) strings(texts ...string) {
	for _, text := range texts {
		n, met := w.number[text]
		if !met {
			n = uint64(len(w.texts))
			w.texts = append(w.texts, text)
			w.number[text] = n
		}
		w.uints(n)
	}
}

// finish returns the strings and what refers to them.
func (w *indexWriter) finish() []byte {
	referring := w.out
	w.out = nil
	w.uints(uint64(len(w.texts)))
	for _, text := range w.texts {
		w.uints(uint64(len(text)))
		w.out = append(w.out, text...)
	}
	return append(w.out, referring...)
}

// encodeIndex returns the index of recordings with their heads.
func encodeIndex(members []member) []byte {
	w := indexWriter{number: map[string]uint64{}}
	w.uints(uint64(len(members)))
	for i := range members {
		m, h := &members[i], members[i].head
		w.strings(m.name)
		w.uints(uint64(m.frame.at), uint64(m.frame.packed), uint64(m.frame.size), flagsOf(m))
		w.strings(h.Run, h.Host, h.Program, h.Library)
		w.ints(int64(h.Rank), int64(h.Size), int64(h.Pid), h.Start)
		w.uints(uint64(len(h.Folds)))
		w.strings(h.Folds...)
		w.uints(uint64(len(h.Variables)))
		for _, v := range h.Variables {
			w.strings(v.Name, v.Value, v.Refused)
			w.uints(map[bool]uint64{true: 1}[v.Asked], uint64(v.Scope))
		}
	}
	return w.finish()
}

// indexReader decodes an index. After an error it returns zeros.
type indexReader struct {
	rest  []byte
	texts []string
	bad   bool
}

var errIndex = errors.New("the index is damaged")

func (r *indexReader) uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *indexReader) int() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count returns a number of things that each take at least one byte.
func (r *indexReader) count() uint64 {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return 0
	}
	return n
}

func (r *indexReader) text() string {
	n := r.uint()
	if n >= uint64(len(r.texts)) {
		r.bad, r.rest = true, nil
		return ""
	}
	return r.texts[n]
}

// newIndexReader reads the strings at the start of an index. They share the memory of one string.
func newIndexReader(raw []byte) *indexReader {
	r := &indexReader{rest: raw}
	all := string(raw)
	r.texts = make([]string, r.count())
	for i := range r.texts {
		n := r.count()
		at := len(raw) - len(r.rest)
		r.texts[i] = all[at : at+int(n)]
		r.rest = r.rest[min(int(n), len(r.rest)):]
	}
	return r
}

// decodeIndex returns the recordings of a container whose index is at offset end.
func decodeIndex(raw []byte, end int64) ([]member, error) {
	r := newIndexReader(raw)
	n := r.count()
	if n > uint64(len(r.rest)/minIndexed) {
		return nil, errIndex
	}
	members := make([]member, 0, n)
	for range n {
		m, h := r.member()
		if !r.bad && (m.frame.at > end || m.frame.packed > end-m.frame.at) {
			return nil, errIndex
		}
		m.head = h
		members = append(members, m)
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errIndex
	}
	return members, nil
}

// minIndexed is the smallest number of bytes of a recording in an index.
const minIndexed = 15

func (r *indexReader) member() (m member, h *Head) {
	m.name = r.text()
	for _, to := range []*int64{&m.frame.at, &m.frame.packed, &m.frame.size} {
		v := r.uint()
		if v > 1<<62 {
			r.bad = true
		}
		*to = int64(v)
	}
	flags := r.uint()
	m.checked = flags&flagChecked != 0
	h = &Head{Name: m.name, Finalized: flags&flagFinalized != 0, Readings: flags&flagReadings != 0,
		StackAuto: flags&flagStackAuto != 0, Unreadable: flags&flagUnreadable != 0}
	h.Run, h.Host, h.Program, h.Library = r.text(), r.text(), r.text(), r.text()
	h.Rank, h.Size, h.Pid, h.Start = int(r.int()), int(r.int()), int(r.int()), r.int()
	for range r.count() {
		h.Folds = append(h.Folds, r.text())
	}
	for range r.count() {
		v := profile.Variable{Name: r.text(), Value: r.text(), Refused: r.text()}
		v.Asked, v.Scope = r.uint() != 0, profile.Scope(r.uint())
		h.Variables = append(h.Variables, v)
	}
	return m, h
}

// The names of call sites are written like an index: their number, and of each the place and
// the name. Those of a file come one after the other, with the differences of their offsets.

func encodeNames(symbols profile.Symbols) []byte {
	w := indexWriter{number: map[string]uint64{}}
	w.uints(uint64(len(symbols)))
	last := profile.Place{}
	for _, place := range slices.SortedFunc(maps.Keys(symbols), profile.Place.Compare) {
		s := symbols[place]
		w.strings(place.Path, place.BuildID, s.Function, s.Source)
		w.ints(int64(place.Offset-last.Offset), int64(s.Line))
		w.uints(s.Into)
		last = place
	}
	return w.finish()
}

func decodeNames(raw []byte) (profile.Symbols, error) {
	r := newIndexReader(raw)
	symbols := profile.Symbols{}
	offset := uint64(0)
	for range r.count() {
		place := profile.Place{Path: r.text(), BuildID: r.text()}
		s := profile.Symbol{Function: r.text(), Source: r.text()}
		offset += uint64(r.int())
		place.Offset, s.Line, s.Into = offset, int(r.int()), r.uint()
		if r.bad {
			break
		}
		symbols[place] = s
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errors.New("the names are damaged")
	}
	return symbols, nil
}

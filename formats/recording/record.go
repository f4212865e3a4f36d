package recording

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// record is a record of which the parts are read one after the other. err is
// the first error; after it, all parts are empty.
type record struct {
	at    uint64 // offset of rest in the file
	rest  []byte
	order binary.ByteOrder
	err   error
}

// head decodes the fixed part of the record.
func (r *record) head(v any) {
	n, err := binary.Decode(r.rest, r.order, v)
	if err != nil {
		r.err = fmt.Errorf("record of %d bytes is too short", len(r.rest))
		return
	}
	r.at, r.rest = r.at+uint64(n), r.rest[n:]
}

// headOf decodes the fixed part of a record of an older version, which has only the first size
// bytes. The other fields are set to 0.
func (r *record) headOf(v any, size int) {
	if size > len(r.rest) {
		r.err = fmt.Errorf("record of %d bytes is too short", len(r.rest))
		return
	}
	whole := record{rest: append(slices.Clip(r.rest[:size]), make([]byte, binary.Size(v)-size)...), order: r.order}
	whole.head(v)
	r.at, r.rest, r.err = r.at+uint64(size), r.rest[size:], whole.err
}

// take removes n elements of the given width from the rest of the record.
func (r *record) take(n uint32, width int) []byte {
	if r.err == nil && uint64(n)*uint64(width) > uint64(len(r.rest)) {
		r.err = fmt.Errorf("%d elements do not fit into their record", n)
	}
	if r.err != nil {
		return nil
	}
	taken := r.rest[:int(n)*width]
	r.rest = r.rest[len(taken):]
	return taken
}

func (r *record) text(length uint32) string { return string(r.take(length, 1)) }

func (r *record) int32s(n uint32) []int32 {
	raw := r.take(n, 4)
	out := make([]int32, len(raw)/4)
	for i := range out {
		out[i] = int32(r.order.Uint32(raw[4*i:]))
	}
	return out
}

func (r *record) uint64s(n uint32) []uint64 {
	raw := r.take(n, 8)
	out := make([]uint64, len(raw)/8)
	for i := range out {
		out[i] = r.order.Uint64(raw[8*i:])
	}
	return out
}

// valid replaces bytes that are not UTF-8 in a text from outside. Tables must
// be UTF-8, since readers would reject them as a whole. Do not use it for paths
// of files to be opened.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

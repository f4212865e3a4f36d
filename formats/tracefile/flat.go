package tracefile

import "encoding/binary"

// A flat is a table of a flatbuffer, which Arrow's messages and footer are made
// of: https://flatbuffers.dev/internals. The Arrow library keeps its own access to
// them to itself. Here is as much as it takes to find a field of a message that
// the library made, and to change it in place.
type flat struct {
	buf []byte
	at  int
}

var little = binary.LittleEndian

// rootOf is the table that a buffer is of.
func rootOf(buf []byte) flat { return flat{buf, int(little.Uint32(buf))} }

// field is where the value of a field is, 0 if it is not there.
func (t flat) field(n int) int {
	slots := t.at - int(int32(little.Uint32(t.buf[t.at:])))
	slot := 4 + 2*n
	if slot >= int(little.Uint16(t.buf[slots:])) {
		return 0
	}
	offset := int(little.Uint16(t.buf[slots+slot:]))
	if offset == 0 {
		return 0
	}
	return t.at + offset
}

// follow is where a table or vector is that a field refers to.
func (t flat) follow(n int) int {
	at := t.field(n)
	return at + int(little.Uint32(t.buf[at:]))
}

func (t flat) table(n int) flat { return flat{t.buf, t.follow(n)} }

func (t flat) byte(n int) byte {
	if at := t.field(n); at > 0 {
		return t.buf[at]
	}
	return 0
}

func (t flat) int64(n int) int64 {
	if at := t.field(n); at > 0 {
		return int64(little.Uint64(t.buf[at:]))
	}
	return 0
}

func (t flat) setInt64(n int, v int64) { little.PutUint64(t.buf[t.field(n):], uint64(v)) }

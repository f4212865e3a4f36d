package tracefile

import "encoding/binary"

// A flat is a table of a flatbuffer (https://flatbuffers.dev/internals), the
// format of Arrow's messages and footer. The Arrow library does not export its
// own access to them. flat can only find a field of a message that the library
// made, and change it in place.
type flat struct {
	buf []byte
	at  int
}

var little = binary.LittleEndian

// rootOf returns the root table of a buffer.
func rootOf(buf []byte) flat { return flat{buf, int(little.Uint32(buf))} }

// field returns the offset of the value of field n, 0 if the field is absent.
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

// follow returns the offset of the table or vector that field n refers to.
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

package parquetfile

import (
	"encoding/binary"

	"github.com/apache/arrow/go/v15/parquet"
)

// Parquet's numbers of the types of pages.
const (
	dataPage       = 0
	dictionaryPage = 2
)

// A structure is a struct of Thrift's compact protocol, whose fields are
// integers and structs. The Arrow library does not export its page headers.
//
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type structure struct {
	out  []byte
	last int // number of the last field
}

// Thrift's numbers of types.
const (
	thriftInt32  = 5
	thriftStruct = 12
)

func (s *structure) field(number, kind int) {
	s.out = append(s.out, byte((number-s.last)<<4|kind))
	s.last = number
}

func (s *structure) int32(number, v int) {
	s.field(number, thriftInt32)
	s.out = binary.AppendVarint(s.out, int64(v))
}

func (s *structure) nested(number int, fill func(*structure)) {
	s.field(number, thriftStruct)
	inner := structure{out: s.out}
	fill(&inner)
	s.out = inner.end()
}

func (s *structure) end() []byte { return append(s.out, 0) }

// appendHeader appends the header of a page.
func appendHeader(out []byte, page, values int, encoding parquet.Encoding, raw, packed int) []byte {
	header := structure{out: out}
	header.int32(1, page)
	header.int32(2, raw)
	header.int32(3, packed)
	if page == dictionaryPage {
		header.nested(7, func(s *structure) {
			s.int32(1, values)
			s.int32(2, int(encoding))
		})
		return header.end()
	}
	header.nested(5, func(s *structure) {
		s.int32(1, values)
		s.int32(2, int(encoding))
		s.int32(3, int(parquet.Encodings.RLE)) // of definition levels
		s.int32(4, int(parquet.Encodings.RLE)) // of repetition levels
	})
	return header.end()
}

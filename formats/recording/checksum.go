package recording

import (
	"encoding/binary"
	"unsafe"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// checksumAt is the offset of the checksum in the header.
const checksumAt = uint64(unsafe.Offsetof(layout.Header{}.Checksum))

// summer computes the checksum of a file of end bytes, piece by piece.
type summer struct {
	sum, at, end uint64
	order        binary.ByteOrder
}

func newSummer(end uint64, order binary.ByteOrder) *summer {
	return &summer{sum: layout.ChecksumStart, end: end &^ 7, order: order}
}

// add adds the next bytes of the file, in whole words.
func (s *summer) add(raw []byte) {
	for ; len(raw) >= 8 && s.at < s.end; raw = raw[8:] {
		word := s.order.Uint64(raw)
		if s.at == checksumAt {
			word = 0
		}
		s.sum = layout.Sum(s.sum, word)
		s.at += 8
	}
}

// zeros adds a hole that ends at the offset to.
func (s *summer) zeros(to uint64) {
	for s.at < min(to, s.end) {
		s.sum = layout.Sum(s.sum, 0)
		s.at += 8
	}
}

func (s *summer) result() uint64 { return max(s.sum, 1) }

// checkSum compares the file with its checksum. Recordings of processes that
// did not end have none. It skips a truncated file, for which the truncation is
// reported.
func (f *file) checkSum() {
	end := f.header.End
	if f.header.Checksum == 0 || end > uint64(f.size) {
		return
	}
	s := newSummer(end, f.order)
	const piece = 1 << 20
	for s.at < s.end {
		raw, err := f.bytes(s.at, min(piece, s.end-s.at))
		if err != nil || len(raw) < 8 {
			f.problem(s.at, "the checksum cannot be made: %v", err)
			return
		}
		s.add(raw)
	}
	if got := s.result(); got != f.header.Checksum {
		f.problem(checksumAt, "the checksum of the file is %016x, it was %016x when the process ended", got, f.header.Checksum)
	}
}

// seal stores the checksum in the image of a process that ended.
func (m *image) seal() {
	s := newSummer(m.size, order)
	for _, p := range m.pieces {
		s.zeros(p.at)
		s.add(p.raw)
	}
	s.zeros(m.size)
	order.PutUint64(m.pieces[0].raw[checksumAt:], s.result())
}

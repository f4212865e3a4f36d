package recording

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// checksumAt is the offset of the checksum in the header.
const checksumAt = uint64(unsafe.Offsetof(layout.Header{}.Checksum))

// checkSum compares the file with its checksum. Recordings of processes that
// did not end have none. It skips a truncated file, for which the truncation is
// reported.
func (f *file) checkSum() {
	end := f.header.End
	if f.header.Checksum == 0 || end > uint64(f.size) {
		return
	}
	end &^= 7
	sum, at := uint64(layout.ChecksumStart), uint64(0)
	const piece = 1 << 20
	for at < end {
		raw, err := f.bytes(at, min(piece, end-at))
		if err != nil || len(raw) < 8 {
			f.problem(at, "the checksum cannot be made: %v", err)
			return
		}
		little := f.order == binary.LittleEndian // a call by interface for each word takes four times as long
		for ; len(raw) >= 8; raw = raw[8:] {
			word := binary.LittleEndian.Uint64(raw)
			if !little {
				word = bits.ReverseBytes64(word)
			}
			if at == checksumAt {
				word = 0
			}
			sum = layout.Sum(sum, word)
			at += 8
		}
	}
	if got := max(sum, 1); got != f.header.Checksum {
		f.problem(checksumAt, "the checksum of the file is %016x, it was %016x when the process ended", got, f.header.Checksum)
	}
}

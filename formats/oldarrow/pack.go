package oldarrow

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// maxRanks is the maximum size of a group in a file: more than the number of
// cores of any machine. maxPacked is the maximum size in bytes of a packed part
// after decompression: enough for maxRanks numbers.
const (
	maxRanks  = 1 << 24
	maxPacked = binary.MaxVarintLen64 * maxRanks
)

var errPacked = errors.New("packed part is damaged")

// A packed part is a sequence of variable-length integers, compressed with
// zstd. Each integer is the difference from the previous value.

var unpacker = table.Unpacker(zstd.WithDecoderMaxMemory(maxPacked), zstd.WithDecoderConcurrency(0))

// unpackVector returns the n values of a packed part.
func unpackVector(packed []byte, n int) ([]uint64, error) {
	raw, err := unpacker().DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	if n < 0 || n > len(raw) { // a value takes at least one byte
		return nil, fmt.Errorf("%w: %d values in %d bytes", errPacked, n, len(raw))
	}
	values := make([]uint64, n)
	var last uint64
	for i := range values {
		delta, used := binary.Varint(raw)
		if used <= 0 {
			return nil, fmt.Errorf("%w: value %d is cut off", errPacked, i)
		}
		raw, last = raw[used:], last+uint64(delta)
		values[i] = last
	}
	if len(raw) > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", errPacked, len(raw))
	}
	return values, nil
}

// unpackKeys sets the keys of the rows, one part of the key after the other.
func unpackKeys(raw []byte, rows []profile.Row) error {
	var last uint64
	for part := range 5 {
		for i := range rows {
			delta, used := binary.Varint(raw)
			if used <= 0 {
				return fmt.Errorf("%w: the key of row %d is cut off", errPacked, i)
			}
			raw, last = raw[used:], last+uint64(delta)
			setKey(&rows[i], part, last)
		}
	}
	if len(raw) > 0 {
		return fmt.Errorf("%w: %d bytes too many", errPacked, len(raw))
	}
	return nil
}

// setKey sets one part of a row's key.
func setKey(r *profile.Row, part int, v uint64) {
	switch part {
	case 0:
		r.Spread = profile.Spread(v)
	case 1:
		r.Comm = int32(v)
	case 2:
		r.Peer = int32(v)
	case 3:
		r.Slice = uint32(v)
	case 4:
		r.Callsite = v
	}
}

// unpackStacks returns call stacks, which follow each other: the call site, the number of
// addresses, the addresses.
func unpackStacks(p *packed) (map[uint64][]uint64, error) {
	if p == nil || p.N == 0 {
		return nil, nil
	}
	flat, err := unpackVector(p.Bytes, p.N)
	if err != nil {
		return nil, err
	}
	stacks := map[uint64][]uint64{}
	for len(flat) > 0 {
		if len(flat) < 2 || flat[1] > uint64(len(flat)-2) {
			return nil, fmt.Errorf("%w: a stack is cut off", errPacked)
		}
		end := 2 + flat[1]
		stacks[flat[0]] = flat[2:end:end]
		flat = flat[end:]
	}
	return stacks, nil
}

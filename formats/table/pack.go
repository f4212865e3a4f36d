package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

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

var (
	packer   = Packer()
	unpacker = Unpacker(zstd.WithDecoderMaxMemory(maxPacked), zstd.WithDecoderConcurrency(0))
)

// Packer returns a function that returns an encoder with these options, always
// the same one.
func Packer(o ...zstd.EOption) func() *zstd.Encoder {
	return sync.OnceValue(func() *zstd.Encoder { return must(zstd.NewWriter(nil, o...)) })
}

// Unpacker does for a decoder what Packer does for an encoder.
func Unpacker(o ...zstd.DOption) func() *zstd.Decoder {
	return sync.OnceValue(func() *zstd.Decoder { return must(zstd.NewReader(nil, o...)) })
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // impossible: the options are constants
	}
	return v
}

func packVector(values []uint64) []byte {
	var raw []byte
	var last uint64
	for _, v := range values {
		raw = binary.AppendVarint(raw, int64(v-last)) // an overflow here is reverted by the overflow on reading
		last = v
	}
	return packer().EncodeAll(raw, nil)
}

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

// rowKeys returns the parts of a row's key that the columns hold in another
// form: the columns have a communicator's label, a peer's world rank, a slice's
// name and a call site's module.
func rowKeys(r *profile.Row) [5]uint64 {
	return [5]uint64{uint64(r.Spread), uint64(int64(r.Comm)), uint64(int64(r.Peer)), uint64(r.Slice), r.Callsite}
}

// packKeys packs the keys of all rows, one part of the key after the other. It
// does not compress them: closeBlock compresses the block that contains them.
func packKeys(rows []profile.Row) []byte {
	raw := make([]byte, 0, 8*len(rows))
	var last uint64
	for part := range 5 {
		for i := range rows {
			v := rowKeys(&rows[i])[part]
			raw = binary.AppendVarint(raw, int64(v-last))
			last = v
		}
	}
	return raw
}

// unpackKeys sets the keys of the rows from their packed form.
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

// setKey sets one part of a row's key. It is the inverse of rowKeys.
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

// packStacks packs call stacks one after the other: the call site, the number
// of addresses, the addresses. It returns nil if there are none.
func packStacks(stacks map[uint64][]uint64) *packed {
	if len(stacks) == 0 {
		return nil
	}
	var flat []uint64
	for _, site := range slices.Sorted(maps.Keys(stacks)) {
		flat = append(append(flat, site, uint64(len(stacks[site]))), stacks[site]...)
	}
	return &packed{len(flat), packVector(flat)}
}

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

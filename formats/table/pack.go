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

// maxRanks is the largest group that a file is believed to have: more than any
// machine has had cores. maxPacked is the most bytes that a packed part may
// unfold to, a number for each of them.
const (
	maxRanks  = 1 << 24
	maxPacked = binary.MaxVarintLen64 * maxRanks
)

var errPacked = errors.New("packed part is damaged")

// Packed parts are variable-length integers, each the difference to the one
// before, compressed with zstd.

var packer = sync.OnceValue(func() *zstd.Encoder {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err) // the options are constants
	}
	return enc
})

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxPacked), zstd.WithDecoderConcurrency(0))
	if err != nil {
		panic(err)
	}
	return dec
})

func packVector(values []uint64) []byte {
	var raw []byte
	var last uint64
	for _, v := range values {
		raw = binary.AppendVarint(raw, int64(v-last)) // wraps round, and back on reading
		last = v
	}
	return packer().EncodeAll(raw, nil)
}

// unpackVector reads n values.
func unpackVector(packed []byte, n int) ([]uint64, error) {
	raw, err := unpacker().DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	if n < 0 || n > len(raw) { // a value takes a byte or more
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

// rowKeys are the parts of a row's key that the columns show in another form:
// a communicator by its label, a peer by its world rank, an address by module.
func rowKeys(r *profile.Row) [5]uint64 {
	return [5]uint64{uint64(r.Spread), uint64(int64(r.Comm)), uint64(int64(r.Peer)), uint64(r.Slice), r.Callsite}
}

// packKeys keeps the keys of all rows, one part after the other. They are not
// compressed: the block that they go into is.
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

// unpackKeys puts packed keys into the rows.
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

// setKey is the inverse of rowKeys.
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

// packStacks keeps stacks one after the other: the site, the number of
// addresses, the addresses. It is nil for none.
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

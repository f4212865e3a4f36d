package parquetfile

import (
	"encoding/binary"
	"math/bits"
)

// https://parquet.apache.org/docs/file-format/data-pages/encodings describes
// the encodings of this file.

var little = binary.LittleEndian

// code is a type of the small numbers that appendHybrid encodes: levels, and
// indices into a dictionary.
type code interface{ uint8 | uint32 }

// shortestRun is the length from which equal codes are written as a run. Packed
// codes come in groups of this number.
const shortestRun = 8

// appendHybrid appends codes of the given width in bits, in Parquet's hybrid of
// runs and packed codes.
func appendHybrid[C code](out []byte, codes []C, width int) []byte {
	packed := 0 // start of the codes that are not written
	for i := 0; i+shortestRun <= len(codes); {
		n := runOf(codes[i:])
		if n < shortestRun {
			i += shortestRun
			continue
		}
		out = appendGroups(out, codes[packed:i], width)
		out = binary.AppendUvarint(out, uint64(n)<<1)
		for c, w := uint32(codes[i]), width; w > 0; w -= 8 {
			out = append(out, byte(c))
			c >>= 8
		}
		i += n
		packed = i
	}
	return appendGroups(out, codes[packed:], width)
}

// runOf returns the number of codes at the beginning that are equal.
func runOf[C code](codes []C) int {
	for i, c := range codes {
		if c != codes[0] {
			return i
		}
	}
	return len(codes)
}

// appendGroups appends groups of packed codes. The last one may be incomplete
// only at the end of the page.
func appendGroups[C code](out []byte, codes []C, width int) []byte {
	if len(codes) == 0 {
		return out
	}
	groups := (len(codes) + shortestRun - 1) / shortestRun
	out = binary.AppendUvarint(out, uint64(groups)<<1|1)
	end := len(out) + groups*width
	p := packer{out: out}
	for _, c := range codes {
		p.add(uint64(c), width)
	}
	return p.close(end)
}

// packer packs numbers, the lowest bits first.
type packer struct {
	out  []byte
	bits uint64 // not yet written
	n    int    // number of these; below 32
}

// add appends the number v, which has at most width bits.
func (p *packer) add(v uint64, width int) {
	if width > 32 {
		p.add(v&(1<<32-1), 32)
		v, width = v>>32, width-32
	}
	p.bits |= v << p.n
	p.n += width
	if p.n >= 32 {
		p.out = little.AppendUint32(p.out, uint32(p.bits))
		p.bits, p.n = p.bits>>32, p.n-32
	}
}

// close writes the remaining bits, and returns the output with the length end.
func (p *packer) close(end int) []byte {
	p.out = little.AppendUint32(p.out, uint32(p.bits))
	for len(p.out) < end {
		p.out = append(p.out, 0)
	}
	return p.out[:end]
}

// Sizes of appendDelta, in numbers.
const (
	deltaBlock = 128
	deltaParts = 4
	deltaPart  = deltaBlock / deltaParts
)

// appendDelta appends numbers in the encoding DELTA_BINARY_PACKED. Differences
// are computed with the numbers' own width, as readers do.
func appendDelta[V int32 | int64](out []byte, values []V) []byte {
	out = binary.AppendUvarint(out, deltaBlock)
	out = binary.AppendUvarint(out, deltaParts)
	out = binary.AppendUvarint(out, uint64(len(values)))
	if len(values) == 0 {
		return binary.AppendVarint(out, 0)
	}
	out = binary.AppendVarint(out, int64(values[0]))
	last := values[0]
	var deltas [deltaBlock]V
	for values = values[1:]; len(values) > 0; {
		n := min(len(values), deltaBlock)
		least := values[0] - last
		for i, v := range values[:n] {
			deltas[i] = v - last
			least = min(least, deltas[i])
			last = v
		}
		clear(deltas[n:])
		out = appendDeltas(out, &deltas, n, least)
		values = values[n:]
	}
	return out
}

// appendDeltas appends one block, of n differences of which least is the
// smallest.
func appendDeltas[V int32 | int64](out []byte, deltas *[deltaBlock]V, n int, least V) []byte {
	out = binary.AppendVarint(out, int64(least))
	widths := len(out)
	out = append(out, make([]byte, deltaParts)...)
	for part := 0; part*deltaPart < n; part++ {
		from := part * deltaPart
		to := min(from+deltaPart, n)
		var all uint64
		for _, d := range deltas[from:to] {
			all |= unsigned(d - least)
		}
		width := bits.Len64(all)
		out[widths+part] = byte(width)
		end := len(out) + width*deltaPart/8
		p := packer{out: out}
		for _, d := range deltas[from:to] {
			p.add(unsigned(d-least), width)
		}
		out = p.close(end)
	}
	return out
}

// unsigned returns the bits of a number.
func unsigned[V int32 | int64](v V) uint64 {
	switch v := any(v).(type) {
	case int32:
		return uint64(uint32(v))
	case int64:
		return uint64(v)
	}
	return 0
}

func appendPlain[V int32 | int64](out []byte, values []V) []byte {
	switch values := any(values).(type) {
	case []int32:
		for _, v := range values {
			out = little.AppendUint32(out, uint32(v))
		}
	case []int64:
		for _, v := range values {
			out = little.AppendUint64(out, uint64(v))
		}
	}
	return out
}

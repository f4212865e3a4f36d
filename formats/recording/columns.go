package recording

import (
	"encoding/binary"
	"fmt"
	"maps"
	mathbits "math/bits"
	"slices"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// Before a recording is compressed, its rows are taken out and written by column.
// The compressed rows then take half of the space:
//
//	number of tables; of each, the offset of its rows and their number
//	the recording without the rows
//	of each table, a bit for each row that is not empty
//	    byte 0 of each such row, byte 1 of each, and so on
//
// Integers are varints. The peer of a row is stored as the difference to that of the row
// before, and Max as the difference to Min. Unpacking does not depend on the layout of recordings,
// because the data have the offsets of the rows. It restores any bytes exactly.

// rowBytes is the size of a row in bytes; peerAt, minAt and maxAt are offsets in it.
const (
	rowBytes = 64
	peerAt   = 12
	minAt    = 48
	maxAt    = 56
)

// rowBlock is the place of the rows of a table in a recording.
type rowBlock struct{ at, rows int }

func (b rowBlock) end() int { return b.at + b.rows*rowBytes }

// rowBlocks returns the rows of the recording's tables, ordered by offset.
func (f *file) rowBlocks() (blocks []rowBlock) {
	head, end := uint64(binary.Size(layout.Segment{})), uint64(0)
	for _, at := range slices.Sorted(maps.Keys(f.tables)) {
		s := f.tables[at]
		if s.Size < head || at < end || at > uint64(f.size) || s.Size > uint64(f.size)-at {
			continue
		}
		if rows := min(s.Rows, (s.Size-head)/rowBytes); rows > 0 {
			blocks = append(blocks, rowBlock{int(at + head), int(rows)})
			end = at + s.Size
		}
	}
	return blocks
}

// appendColumns appends a recording with its rows by column.
func appendColumns(to, raw []byte, blocks []rowBlock) []byte {
	to = binary.AppendUvarint(to, uint64(len(blocks)))
	for _, b := range blocks {
		to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(b.at)), uint64(b.rows))
	}
	at := 0
	for _, b := range blocks {
		to = append(to, raw[at:b.at]...)
		at = b.end()
	}
	to = append(to, raw[at:]...)
	var rows []byte
	for _, b := range blocks {
		bits := len(to)
		to = append(to, make([]byte, (b.rows+7)/8)...)
		rows = rows[:0]
		for i := range b.rows {
			if row := raw[b.at+i*rowBytes:][:rowBytes]; [rowBytes]byte(row) != [rowBytes]byte{} {
				to[bits+i/8] |= 1 << (i % 8)
				rows = append(rows, row...)
			}
		}
		differences(rows)
		for column := range rowBytes {
			for i := column; i < len(rows); i += rowBytes {
				to = append(to, rows[i])
			}
		}
	}
	return to
}

// differences replaces values of rows by differences. sums does the reverse.
func differences(rows []byte) {
	last := uint32(0)
	for ; len(rows) > 0; rows = rows[rowBytes:] {
		peer := little.Uint32(rows[peerAt:])
		little.PutUint32(rows[peerAt:], peer-last)
		last = peer
		little.PutUint64(rows[maxAt:], little.Uint64(rows[maxAt:])-little.Uint64(rows[minAt:]))
	}
}

func sums(rows []byte) {
	last := uint32(0)
	for ; len(rows) > 0; rows = rows[rowBytes:] {
		last += little.Uint32(rows[peerAt:])
		little.PutUint32(rows[peerAt:], last)
		little.PutUint64(rows[maxAt:], little.Uint64(rows[maxAt:])+little.Uint64(rows[minAt:]))
	}
}

// fromColumns appends the recording of size bytes from which appendColumns made from. If from is
// truncated, it appends what precedes the damage, without incomplete rows, and returns an error.
func fromColumns(to, from []byte, size int) ([]byte, error) {
	blocks, from, err := readRowBlocks(from, size)
	if err != nil {
		return to, err
	}
	start, at := len(to), 0
	for _, b := range append(blocks, rowBlock{at: size}) {
		n := min(b.at-at, len(from))
		to, from = append(to, from[:n]...), from[n:]
		if n < b.at-at {
			return to, fmt.Errorf("cut after %d bytes", len(to)-start)
		}
		to = append(to, make([]byte, b.rows*rowBytes)...)
		at = b.end()
	}
	rows := buffers.Get().(*[]byte)
	defer buffers.Put(rows)
	for _, b := range blocks {
		if *rows, from, err = b.fromColumns(to[start:], from, *rows); err != nil {
			return to, err
		}
	}
	if len(from) > 0 {
		return to, fmt.Errorf("%d bytes too many", len(from))
	}
	return to, nil
}

// fromColumns puts the rows of a table into a recording. It returns what follows them, and
// a buffer that it has used.
func (b rowBlock) fromColumns(raw, from, buffer []byte) (rows, rest []byte, err error) {
	bits := from[:min((b.rows+7)/8, len(from))]
	from = from[len(bits):]
	n := 0
	for _, eight := range bits {
		n += mathbits.OnesCount8(eight)
	}
	if len(bits) < (b.rows+7)/8 || n > b.rows || n > len(from)/rowBytes {
		return buffer, nil, fmt.Errorf("cut inside the rows of the table at byte %d", b.at)
	}
	rows = slices.Grow(buffer[:0], n*rowBytes)[:n*rowBytes]
	for column := range rowBytes {
		for i, b := range from[column*n:][:n] {
			rows[i*rowBytes+column] = b
		}
	}
	sums(rows)
	next := rows
	for i := range b.rows {
		if bits[i/8]&(1<<(i%8)) != 0 && len(next) > 0 {
			copy(raw[b.at+i*rowBytes:], next[:rowBytes])
			next = next[rowBytes:]
		}
	}
	return rows, from[n*rowBytes:], nil
}

// readRowBlocks reads the list of tables. It returns an error if they do not lie one after
// the other in a recording of size bytes.
func readRowBlocks(from []byte, size int) (blocks []rowBlock, rest []byte, err error) {
	r := indexReader{rest: from}
	end := 0
	for range r.count() {
		at, rows := r.uint(), r.uint()
		if r.bad || at < uint64(end) || at > uint64(size) || rows == 0 || rows > (uint64(size)-at)/rowBytes {
			return nil, nil, fmt.Errorf("the list of tables is damaged")
		}
		b := rowBlock{int(at), int(rows)}
		blocks, end = append(blocks, b), b.end()
	}
	if r.bad {
		return nil, nil, fmt.Errorf("the list of tables is damaged")
	}
	return blocks, r.rest, nil
}

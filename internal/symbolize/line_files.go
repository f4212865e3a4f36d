package symbolize

import (
	"bytes"
	"encoding/binary"
)

// lineFiles checks the lists of directories and files at the start of a line
// table. debug/dwarf allocates as many as the table claims, and joins the name
// of each file to that of its directory.
type lineFiles struct {
	order     binary.ByteOrder
	word      int // size of an offset
	in        leb
	str, line []byte // .debug_str, .debug_line_str
}

// check returns errLarge if the lists, or what the program can add to them, need
// too much memory. directory is the length of the unit's own directory.
func (l *lineFiles) check(table []byte, directory int) error {
	if len(table) < 24 {
		return nil // debug/dwarf reports the damage
	}
	const wide = 0xffffffff
	length, at := uint64(l.order.Uint32(table)), 4
	if l.word = 4; length == wide {
		length, at, l.word = l.order.Uint64(table[4:]), 12, 8
	}
	end := uint64(at) + min(length, uint64(len(table)-at))
	l.in = leb{table[:end]}
	version := l.order.Uint16(table[at:])
	l.in.skip(at + 2)
	if version >= 5 {
		l.in.skip(2) // sizes of an address and of a segment selector
	}
	l.in.skip(l.word + 1) // header length, minimum instruction length
	if version >= 4 {
		l.in.skip(1)
	}
	l.in.skip(3)
	if l.in.ended() {
		return nil
	}
	l.in.skip(int(l.in.rest[0])) // number of opcodes, and a length for each but the first
	if version >= 5 {
		return l.check5(directory)
	}
	return l.check4(directory)
}

// check4 checks lists that end with an empty name.
func (l *lineFiles) check4(directory int) error {
	longest, cost := directory, 0
	for n := l.in.text(); n > 0; n = l.in.text() {
		longest = max(longest, directory+n)
		cost += fileCost + directory + n
	}
	for n := l.in.text(); n > 0; n = l.in.text() {
		l.in.next() // directory
		l.in.next() // time
		l.in.next() // size
		cost += fileCost + longest + n
	}
	// The program can add files: 3 bytes of an instruction, and a name and 3 numbers.
	const instruction = 8
	if cost > maxTables/2 || len(l.in.rest)/instruction*(fileCost+longest) > maxTables*2 {
		return errLarge
	}
	return nil
}

// check5 checks lists that begin with their forms and their length.
func (l *lineFiles) check5(directory int) error {
	longest, cost := directory, uint64(0)
	for range 2 { // directories, files
		var forms []uint64
		if l.in.ended() {
			return nil
		}
		n := int(l.in.rest[0])
		l.in.skip(1)
		for range n {
			l.in.next() // type of content
			forms = append(forms, l.in.next())
		}
		count, next := l.in.next(), longest
		if count > uint64(len(l.in.rest)) { // each takes at least one byte
			return errDamaged
		}
		for range count {
			length := 0
			for _, form := range forms {
				n, ok := l.value(form)
				if !ok {
					return errDamaged
				}
				length = max(length, n)
			}
			next = max(next, directory+length)
			if cost += uint64(fileCost + longest + length); cost > maxTables/2 {
				return errLarge
			}
		}
		longest = next
	}
	return nil
}

// value skips a value and returns the length of the text that it is.
func (l *lineFiles) value(form uint64) (length int, ok bool) {
	switch form {
	case 0x08: // string
		return l.in.text(), true
	case 0x0e, 0x1f: // strp, line_strp
		texts := l.str
		if form == 0x1f {
			texts = l.line
		}
		return l.reference(texts)
	case 0x0f: // udata
		l.in.next()
	case 0x0b: // data1
		l.in.skip(1)
	case 0x05: // data2
		l.in.skip(2)
	case 0x06: // data4
		l.in.skip(4)
	case 0x07: // data8
		l.in.skip(8)
	case 0x1e: // data16
		l.in.skip(16)
	case 0x09: // block
		n := l.in.next()
		l.in.skip(int(min(n, uint64(len(l.in.rest)))))
	default:
		return 0, false
	}
	return 0, true
}

// reference skips an offset in another section and returns the length of the
// text there.
func (l *lineFiles) reference(texts []byte) (int, bool) {
	if len(l.in.rest) < l.word {
		return 0, false
	}
	at := uint64(l.order.Uint32(l.in.rest))
	if l.word == 8 {
		at = l.order.Uint64(l.in.rest)
	}
	l.in.skip(l.word)
	if at >= uint64(len(texts)) {
		return 0, true // debug/dwarf reports the damage
	}
	return max(bytes.IndexByte(texts[at:], 0), 0), true
}

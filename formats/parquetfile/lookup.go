package parquetfile

// lookupLimit is the maximum number of different numbers in a dictionary.
const lookupLimit = 1 << 15

// lookup finds the index of a number in a dictionary. It is a hash table with
// open addressing.
type lookup struct {
	words []uint64                 // by index
	at    *[2 * lookupLimit]uint32 // index+1, 0 for a free slot
}

// start empties the dictionary.
func (l *lookup) start() *lookup {
	if l.at == nil {
		l.at = new([2 * lookupLimit]uint32)
	}
	clear(l.at[:])
	l.words = l.words[:0]
	return l
}

// code returns the index of v, which it adds if necessary. It returns
// lookupLimit if the dictionary is full.
func (l *lookup) code(v uint64) uint32 {
	const half = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio
	for slot := v * half >> 48; ; slot = (slot + 1) % (2 * lookupLimit) {
		switch at := l.at[slot]; {
		case at == 0:
			if len(l.words) == lookupLimit {
				return lookupLimit
			}
			l.words = append(l.words, v)
			l.at[slot] = uint32(len(l.words))
			return uint32(len(l.words) - 1)
		case l.words[at-1] == v:
			return at - 1
		}
	}
}

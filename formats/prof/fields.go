package prof

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mpitrace/mpitrace/profile"
)

const (
	maxRank    = math.MaxInt32
	safeDigits = 19 // a number of so many digits fits into 64 bits
	rankDigits = 10 // largest number of digits of a rank
)

// numeral reads digits from line[at] on, up to the byte end. It returns the
// number and the index after end. It returns next 0 on anything else, on more
// than 19 digits, or if at is 0. So calls can be chained, and only the last
// result needs to be checked.
func numeral(line []byte, at int, end byte) (n uint64, next int) {
	if at == 0 {
		return 0, 0
	}
	for i, c := range line[at:] {
		if digit := c - '0'; digit <= 9 {
			n = n*10 + uint64(digit)
			continue
		}
		if i == 0 || i > safeDigits || c != end {
			break
		}
		return n, at + i + 1
	}
	return 0, 0
}

// word skips the text want at line[at]. Its results are like those of numeral.
func word(line []byte, at int, want string) (next int) {
	end := at + len(want)
	if at == 0 || end > len(line) || string(line[at:end]) != want {
		return 0
	}
	return end
}

// zeros is four empty columns of a histogram. Most columns are empty.
var zeros = binary.LittleEndian.Uint64([]byte("0,0,0,0,"))

// plainHistogram reads numbers separated by commas and adds them to h. If h is
// nil it only checks them. It returns false on anything else.
func plainHistogram(text []byte, h *profile.Histogram) bool {
	for i, column := 0, 0; ; column++ {
		for len(text)-i >= 8 && binary.LittleEndian.Uint64(text[i:]) == zeros {
			i += 8
			column += 4
		}
		start, n := i, uint64(0)
		for i < len(text) && text[i]-'0' <= 9 {
			n = n*10 + uint64(text[i]-'0')
			i++
		}
		if i == start || i-start > safeDigits {
			return false
		}
		count(h, column, n)
		if i == len(text) {
			return true
		}
		if text[i] != ',' {
			return false
		}
		i++
	}
}

// anyHistogram is like plainHistogram, but accepts numbers of 20 digits, and
// returns an error that says what is wrong.
func anyHistogram(text []byte, h *profile.Histogram) error {
	i := 0
	for column := range bytes.SplitSeq(text, []byte(",")) {
		n, err := number(column)
		if err != nil {
			return fmt.Errorf("column %d of the histogram: %w", i+1, err)
		}
		count(h, i, n)
		i++
	}
	return nil
}

// count adds n to a column. Columns beyond those of 64-bit sizes count as the
// last one, where Open MPI counts every size that is too large for its table.
func count(h *profile.Histogram, column int, n uint64) {
	if h != nil && n > 0 {
		h[min(column, len(h)-1)] += n
	}
}

// appendRanks reads ranks separated by commas. A comma may also follow the last. In files of
// one rank each, the list of the world's members is most of the text.
func appendRanks(to []int, list []byte) ([]int, error) {
	to = slices.Grow(to, bytes.Count(list, []byte(","))+1)
	for i := 0; i < len(list); i++ { // i++ skips the comma
		start, n := i, 0
		for i < len(list) && list[i]-'0' <= 9 && i-start < rankDigits {
			n = n*10 + int(list[i]-'0')
			i++
		}
		if i == start || n > maxRank || i < len(list) && list[i] != ',' {
			item, _, _ := bytes.Cut(list[start:], []byte(","))
			if i = start + len(item); len(item) == 0 {
				continue // the comma after the last rank
			}
			var err error
			if n, err = rank(item); err != nil {
				return to, err
			}
		}
		to = append(to, n)
	}
	return to, nil
}

// split stores the first fields of a line in f, and returns the field after
// them, if any.
func split(line []byte, f [][]byte) (rest []byte, err error) {
	n := 0
	for s := range bytes.FieldsSeq(line) {
		switch {
		case n < len(f):
			f[n] = s
			n++
		case rest == nil:
			rest = s
		default:
			return nil, fmt.Errorf("%s after the end of the line", quote(s))
		}
	}
	if n < len(f) {
		return nil, fmt.Errorf("line ends after %d of %d fields", n, len(f))
	}
	return rest, nil
}

// volume parses `bytes "bytes" count "msgs" "sent"`.
func volume(f [][]byte) (bytes, messages uint64, err error) {
	for i, want := range [...]string{1: "bytes", 3: "msgs", 4: "sent"} {
		if want != "" && string(f[i]) != want {
			return 0, 0, fmt.Errorf("%s in place of `%s`", quote(f[i]), want)
		}
	}
	if bytes, err = number(f[0]); err != nil {
		return 0, 0, err
	}
	messages, err = number(f[2])
	return bytes, messages, err
}

func rank(s []byte) (int, error) {
	n, err := number(s)
	if err != nil || n > maxRank {
		return 0, fmt.Errorf("%s is no rank", quote(s))
	}
	return int(n), nil
}

// number does what strconv.ParseUint does, for a byte slice.
func number(s []byte) (uint64, error) {
	var n uint64
	for _, c := range s {
		digit := uint64(c - '0')
		if c-'0' > 9 || n > (math.MaxUint64-digit)/10 {
			return 0, fmt.Errorf("%s is no number of 64 bits", quote(s))
		}
		n = n*10 + digit
	}
	if len(s) == 0 {
		return 0, fmt.Errorf("%s is no number of 64 bits", quote(s))
	}
	return n, nil
}

// quote returns a piece of a file for an error message: short, and without
// control characters.
func quote(s []byte) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(string(s[:most])) + "..."
	}
	return strconv.Quote(string(s))
}

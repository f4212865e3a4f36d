package plot

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Prefixes for multiples of 1024 and of 1000. Larger values are written with
// more digits or with an exponent.
var (
	binaryUnits = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	siPrefixes  = []string{"", "k", "M", "G", "T", "P", "E", "Z", "Y"}
)

func (u Unit) base() float64 {
	if u == Bytes {
		return 1024
	}
	return 1000
}

func (u Unit) prefixes() []string {
	if u == Bytes {
		return binaryUnits
	}
	return siPrefixes
}

// prefixed divides v by a power of the unit's base. The result, rounded to the
// given number of digits, is below 1024 for bytes and below 1000 otherwise.
func (u Unit) prefixed(v float64, digits int) (number float64, power int) {
	last := len(u.prefixes()) - 1
	for number = v; power < last && rounded(number, digits) >= u.base(); power++ {
		number /= u.base()
	}
	return number, power
}

func rounded(v float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return r
}

// format returns v as text with three significant digits, or more for whole
// numbers.
func (u Unit) format(v float64) string { return u.formatDigits(v, 3) }

func (u Unit) formatDigits(v float64, digits int) string {
	if u == Count && v < 1e4 && v == math.Trunc(v) {
		return Grouped(int(v))
	}
	number, power := u.prefixed(v, max(digits, 4)) // four digits, because 1000 KiB must not become 1e+03 KiB
	return strings.TrimSpace(plain(number, digits) + " " + u.prefixes()[power])
}

// plain writes whole numbers below 10,000 in full: 1,023 B.
func plain(v float64, digits int) string {
	if v >= 1000 && v < 1e4 {
		digits = max(digits, 4)
	}
	r := rounded(v, digits)
	if r < 1e4 && r == math.Trunc(r) {
		return Grouped(int(r))
	}
	return strconv.FormatFloat(r, 'g', -1, 64)
}

// formatAll writes all values with the same number of digits, the smallest that
// keeps them distinct.
func (u Unit) formatAll(values []float64) []string {
	texts := make([]string, len(values))
	for digits := 3; digits <= 17; digits++ {
		for i, v := range values {
			texts[i] = u.formatDigits(v, digits)
		}
		if len(slices.Compact(slices.Clone(texts))) == len(values) {
			break
		}
	}
	return texts
}

// Grouped writes an integer with commas between thousands.
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

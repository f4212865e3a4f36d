package plot

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The prefixes of multiples of 1024 and of 1000. Values past the last are
// written with many digits, or an exponent.
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

// prefixed splits a value into a number and its prefix, so that the number,
// written with that many digits, is below 1024 or 1000.
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

// format writes a value with at least three digits.
func (u Unit) format(v float64) string { return u.formatDigits(v, 3) }

func (u Unit) formatDigits(v float64, digits int) string {
	if u == Count && v < 1e4 && v == math.Trunc(v) {
		return Grouped(int(v))
	}
	number, power := u.prefixed(v, max(digits, 4)) // 1000 KiB, and not 1e+03
	return strings.TrimSpace(plain(number, digits) + " " + u.prefixes()[power])
}

// plain writes whole numbers of up to four digits in full: 1,023 B.
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

// formatAll writes values with as many digits as it takes to tell them apart.
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

package text

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Prefixes are the unit prefixes with which the labels of axes and scales write
// large values. Values beyond the last prefix have more digits or an exponent.
type Prefixes struct {
	base  float64
	names []string
}

var (
	Decimal = &Prefixes{1000, []string{"", "k", "M", "G", "T", "P", "E", "Z", "Y"}}                  // 12; 3,400; 1.2 M
	Binary  = &Prefixes{1024, []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}} // of bytes: 12 B; 3.32 KiB
)

// Multiple returns the factor of the prefix with which v is written: 1e6 for
// 3.4 M.
func (p *Prefixes) Multiple(v float64) float64 {
	_, power := p.split(v, 4)
	return math.Pow(p.base, float64(power))
}

// split divides v by a power of the base. The result, rounded to the given number of
// digits, is below the base.
func (p *Prefixes) split(v float64, digits int) (number float64, power int) {
	for number = v; power < len(p.names)-1 && rounded(number, digits) >= p.base; power++ {
		number /= p.base
	}
	return number, power
}

func rounded(v float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return r
}

// Format returns v with its prefix and the given number of significant digits.
// Whole numbers below 10,000 are written in full.
func (p *Prefixes) Format(v float64, digits int) string {
	if p == Decimal && v < 1e4 && v == math.Trunc(v) {
		return Count(int(v))
	}
	number, power := p.split(v, max(digits, 4)) // at least four digits, because 1000 KiB must not become 1e+03 KiB
	return strings.TrimSpace(plain(number, digits) + " " + p.names[power])
}

// plain formats v, which has been divided by its prefix. Whole numbers below
// 10,000 are written in full: 1,023.
func plain(v float64, digits int) string {
	if v >= 1000 && v < 1e4 {
		digits = max(digits, 4)
	}
	r := rounded(v, digits)
	if r < 1e4 && r == math.Trunc(r) {
		return Count(int(r))
	}
	return strconv.FormatFloat(r, 'g', -1, 64)
}

// FormatAll returns all values with the same number of digits, the smallest that keeps
// them distinct.
func (p *Prefixes) FormatAll(values []float64) []string {
	texts := make([]string, len(values))
	for digits := 3; digits <= 17; digits++ {
		for i, v := range values {
			texts[i] = p.Format(v, digits)
		}
		if len(slices.Compact(slices.Clone(texts))) == len(values) {
			break
		}
	}
	return texts
}

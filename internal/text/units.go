package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// integer is a type that Count and CountOf can format. Values must not be
// negative.
type integer interface {
	~int | ~int32 | ~int64 | ~uint32 | ~uint64
}

// Count returns a number in full, with digits in groups of three: 1,234,567.
func Count[N integer](n N) string {
	s := strconv.FormatUint(uint64(n), 10)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// CountOf returns a number with its noun: 1 message, 1,234 messages, 2
// processes.
func CountOf[N integer](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return Count(n) + " " + noun + "s"
}

// List returns words as in "a, b and c".
func List(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Number returns a whole number in full, and any other number with three
// digits.
func Number(n float64) string {
	sign, size := "", math.Abs(n)
	if n < 0 {
		sign = "-"
	}
	switch {
	case size >= 1e15 || size > 0 && size < 0.01:
		return fmt.Sprintf("%.3g", n)
	case size == math.Trunc(size):
		return sign + Count(uint64(size))
	case size < 999.5:
		return sign + ThreeDigits(size)
	}
	return sign + Count(uint64(size+0.5))
}

// UnitScale is how the values of a kind are written. The page holds the same units, so that its
// script writes what it draws in the same way (Scales).
type UnitScale struct {
	Steps []ScaleStep `json:"steps"`
	Exact string      `json:"exact"` // follows a value in full: " B"
}

// ScaleStep is how values are written that are below a limit, and not below that of the step before.
type ScaleStep struct {
	Below    float64 `json:"below"`    // 0: no limit
	Times    float64 `json:"times"`    // the value is multiplied by this and divided by Per
	Per      float64 `json:"per"`      //
	Name     string  `json:"name"`     // of the unit
	Decimals int     `json:"decimals"` // threeDigits: as many as give three digits
}

const threeDigits = -1

// Scales are those of which the page writes values itself. Values without a unit are counts.
var Scales = map[string]*UnitScale{"bytes": bytesUnit, "ns": durationUnit, "share": shareUnit}

var (
	bytesUnit = &UnitScale{Exact: " B", Steps: []ScaleStep{
		{1 << 10, 1, 1, " B", 0}, {999.5 * (1 << 10), 1, 1 << 10, " KiB", threeDigits},
		{999.5 * (1 << 20), 1, 1 << 20, " MiB", threeDigits}, {999.5 * (1 << 30), 1, 1 << 30, " GiB", threeDigits},
		{999.5 * (1 << 40), 1, 1 << 40, " TiB", threeDigits}, {999.5 * (1 << 50), 1, 1 << 50, " PiB", threeDigits},
		{0, 1, 1 << 60, " EiB", threeDigits}}}
	durationUnit = &UnitScale{Exact: " ns", Steps: []ScaleStep{{999.5, 1, 1, " ns", 0}, {999.5e3, 1, 1e3, " µs", threeDigits},
		{999.5e6, 1, 1e6, " ms", threeDigits}, {0, 1, 1e9, " s", threeDigits}}}
	shareUnit = &UnitScale{Steps: []ScaleStep{{0, 100, 1, " %", 1}}}
)

// split converts a value to the unit that fits, and returns the number of decimals to print.
func (u *UnitScale) split(value float64) (v float64, decimals int, name string) {
	i := 0
	for u.Steps[i].Below > 0 && value >= u.Steps[i].Below {
		i++
	}
	s := &u.Steps[i]
	v, decimals = value*s.Times/s.Per, s.Decimals
	if decimals == threeDigits {
		decimals = decimalsOf(v)
	}
	return v, decimals, s.Name
}

// Text returns a value with its unit.
func (u *UnitScale) Text(value float64) string {
	v, decimals, name := u.split(value)
	return strconv.FormatFloat(v, 'f', decimals, 64) + name
}

// Bytes returns up to 1023 bytes in full, and more with three digits and a
// binary prefix: 1.50 KiB is 1531 to 1541 bytes.
func Bytes(n uint64) string { return bytesUnit.Text(float64(n)) }

// Percent returns a share, a fraction of 1, in percent: 12.3 %.
func Percent(share float64) string { return shareUnit.Text(share) }

// Duration returns nanoseconds with three digits in the unit that fits: 1.23
// µs, or 1.23 us in ASCII.
func Duration(ns float64, ascii bool) string {
	words := durationUnit.Text(ns)
	if ascii {
		words = strings.Replace(words, "µ", "u", 1)
	}
	return words
}

// Estimate returns nanoseconds with their standard error in the same unit: 12.3
// ms ±0.1. If the error is smaller than the last digit, it has up to two digits
// more. The error is rounded up, so that it is never 0.
func Estimate(ns, stderr float64, ascii bool) string {
	v, decimals, unit := durationUnit.split(ns)
	if v > 0 {
		stderr *= v / ns
	}
	digits := decimals
	for digits < decimals+2 && unit != " ns" && stderr*math.Pow10(digits) < 1-1e-9 {
		digits++
	}
	stderr = math.Ceil(stderr*math.Pow10(digits)-1e-9) / math.Pow10(digits)
	sign := "±"
	if ascii {
		unit, sign = strings.Replace(unit, "µ", "u", 1), "+-"
	}
	return fmt.Sprintf("%.*f%s %s%.*f", decimals, v, unit, sign, digits, stderr)
}

// ThreeDigits returns a number below 1000 with three digits.
func ThreeDigits(v float64) string { return fmt.Sprintf("%.*f", decimalsOf(v), v) }

// decimalsOf returns how many of a number's three digits follow the decimal
// point.
func decimalsOf(v float64) int {
	switch {
	case v < 9.995:
		return 2
	case v < 99.95:
		return 1
	}
	return 0
}

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

// Bytes returns up to 1023 bytes in full, and more with three digits and a
// binary prefix: 1.50 KiB is 1531 to 1541 bytes.
func Bytes(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	for v >= 999.5 && unit < 6 {
		v /= 1024
		unit++
	}
	return fmt.Sprintf("%s %ciB", ThreeDigits(v), "KMGTPE"[unit-1])
}

// Percent returns a share, a fraction of 1, in percent: 12.3 %.
func Percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// Duration returns nanoseconds with three digits in the unit that fits: 1.23
// µs, or 1.23 us in ASCII.
func Duration(ns float64, ascii bool) string {
	v, decimals, unit := duration(ns, ascii)
	return fmt.Sprintf("%.*f %s", decimals, v, unit)
}

// Estimate returns nanoseconds with their standard error in the same unit: 12.3
// ms ±0.1. If the error is smaller than the last digit, it has up to two digits
// more. The error is rounded up, so that it is never 0.
func Estimate(ns, stderr float64, ascii bool) string {
	v, decimals, unit := duration(ns, ascii)
	if v > 0 {
		stderr *= v / ns
	}
	digits := decimals
	for digits < decimals+2 && unit != "ns" && stderr*math.Pow10(digits) < 1-1e-9 {
		digits++
	}
	stderr = math.Ceil(stderr*math.Pow10(digits)-1e-9) / math.Pow10(digits)
	sign := "±"
	if ascii {
		sign = "+-"
	}
	return fmt.Sprintf("%.*f %s %s%.*f", decimals, v, unit, sign, digits, stderr)
}

// duration converts nanoseconds to the unit that fits, and returns the number
// of decimals to print.
func duration(ns float64, ascii bool) (v float64, decimals int, unit string) {
	switch {
	case ns < 999.5:
		return ns, 0, "ns"
	case ns < 999.5e3 && ascii:
		return ns / 1e3, decimalsOf(ns / 1e3), "us"
	case ns < 999.5e3:
		return ns / 1e3, decimalsOf(ns / 1e3), "µs"
	case ns < 999.5e6:
		return ns / 1e6, decimalsOf(ns / 1e6), "ms"
	}
	return ns / 1e9, decimalsOf(ns / 1e9), "s"
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

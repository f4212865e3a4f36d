package aggregate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// count prints a number in full, in groups of three: 1,234,567.
func count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// CountOf prints a number of things: 1 message, 1,234 messages, 2 processes.
func CountOf(n uint64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return count(n) + " " + noun + "s"
}

// bytesText prints bytes in full up to 1023 and to three digits in powers of
// 1024 above: 1.50 KiB is 1531 to 1541 bytes.
func bytesText(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	for v >= 999.5 && unit < 6 {
		v /= 1024
		unit++
	}
	return fmt.Sprintf("%s %ciB", threeDigits(v), "KMGTPE"[unit-1])
}

// BytesText prints bytes as the reports do.
func BytesText(n uint64) string { return bytesText(n) }

// DurationText prints nanoseconds as the reports do.
func DurationText(ns int64, o TextOptions) string { return o.duration(float64(ns)) }

// durationText prints nanoseconds to three digits.
func durationText(ns float64, micro string) string {
	v, decimals, unit := durationParts(ns, micro)
	return fmt.Sprintf("%.*f %s", decimals, v, unit)
}

// estimateText prints nanoseconds and their standard error in the same unit. An
// error that is smaller than the last digit has up to two digits more, and is
// rounded up, since 0 would be none.
func estimateText(ns, wrong float64, micro, sign string) string {
	v, decimals, unit := durationParts(ns, micro)
	if v > 0 {
		wrong *= v / ns
	}
	digits := decimals
	for digits < decimals+2 && unit != "ns" && wrong*math.Pow10(digits) < 1-1e-9 {
		digits++
	}
	wrong = math.Ceil(wrong*math.Pow10(digits)-1e-9) / math.Pow10(digits)
	return fmt.Sprintf("%.*f %s %s%.*f", decimals, v, unit, sign, digits, wrong)
}

// durationParts are a number in the unit that fits, and its decimals.
func durationParts(ns float64, micro string) (v float64, decimals int, unit string) {
	switch {
	case ns < 999.5:
		return ns, 0, "ns"
	case ns < 999.5e3:
		return ns / 1e3, decimalsOf(ns / 1e3), micro
	case ns < 999.5e6:
		return ns / 1e6, decimalsOf(ns / 1e6), "ms"
	}
	return ns / 1e9, decimalsOf(ns / 1e9), "s"
}

func threeDigits(v float64) string { return fmt.Sprintf("%.*f", decimalsOf(v), v) }

// decimalsOf is how many of the three digits of a number stand behind its point.
func decimalsOf(v float64) int {
	switch {
	case v < 9.995:
		return 2
	case v < 99.95:
		return 1
	}
	return 0
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimRight(line, "\r \t")
}

package aggregate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

// countOf prints a number of things: 1 message, 1,234 messages.
func countOf(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
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

// durationText prints nanoseconds to three digits.
func durationText(ns float64, micro string) string {
	switch {
	case ns < 999.5:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 999.5e3:
		return threeDigits(ns/1e3) + " " + micro
	case ns < 999.5e6:
		return threeDigits(ns/1e6) + " ms"
	}
	return threeDigits(ns/1e9) + " s"
}

func threeDigits(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// printable makes a text that came from the job harmless on a terminal:
// control and other invisible characters, and broken UTF-8, are escaped; so is
// all that is not ASCII, if asked.
func printable(s string, ascii bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r) && (r < utf8.RuneSelf || !ascii):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += n
	}
	return b.String()
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimRight(line, "\r \t")
}

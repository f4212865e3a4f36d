package text

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// leastWidth is the smallest width, in characters, that tables are made for.
const leastWidth = 40

// TerminalWidth returns the number of characters in a line of w: the value of
// COLUMNS if it is set, otherwise the width of the terminal. It returns 0 if w
// is not a terminal; lines may then have any length.
func TerminalWidth(w io.Writer) int {
	n, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if file, ok := w.(*os.File); ok && n <= 0 {
		n, _, _ = term.GetSize(int(file.Fd()))
	}
	if n <= 0 {
		return 0
	}
	return max(n, leastWidth)
}

// TerminalHeight returns the number of lines of w; 0 if it is not a terminal.
func TerminalHeight(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	_, n, _ := term.GetSize(int(file.Fd()))
	return n
}

// wide are the ranges of characters that take two columns of a terminal: the wide and full-width
// ones of Unicode's East Asian Width (UAX #11), and pictures.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0xa4cf, 1}, {0xa960, 0xa97f, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x16fe0, 0x18cff, 1}, {0x1b000, 0x1b2ff, 1}, {0x1f300, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

// Columns returns the number of columns that a text takes on a terminal. Combining marks count
// as one, although many terminals give them none.
func Columns(s string) (n int) {
	for _, r := range s {
		n++
		if unicode.Is(wide, r) {
			n++
		}
	}
	return n
}

// Screen returns the text that replaces the content of a terminal by some lines. Lines beyond the
// terminal's height are left out; the last line then says so.
func Screen(lines string, height int) string {
	const home, clearLine, clearBelow = "\x1b[H", "\x1b[K", "\x1b[J"
	list := strings.Split(strings.TrimRight(lines, "\n"), "\n")
	if len(list) >= height && height > 1 {
		list = append(list[:height-2], "... (the terminal is too small for the rest)")
	}
	return home + strings.Join(list, clearLine+"\n") + clearLine + "\n" + clearBelow
}

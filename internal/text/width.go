package text

import (
	"io"
	"os"
	"strconv"
	"strings"

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

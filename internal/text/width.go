package text

import (
	"io"
	"os"
	"strconv"

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

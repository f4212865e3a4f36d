package text

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// leastWidth is the narrowest that tables are made for.
const leastWidth = 40

// TerminalWidth returns how many characters a line of w has: those of the terminal, or
// COLUMNS if it is set. It returns 0 if w is neither, and lines may have any length.
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

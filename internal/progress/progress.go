// Package progress shows on a terminal how far long work has come, at which
// rate, and how long it still takes. Work of less than a second shows nothing,
// and neither does any where nobody looks at a terminal.
package progress

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// patience is how long work goes on before it shows.
const patience = time.Second

// Bar is work under way. A nil Bar shows nothing. Several goroutines may use it.
type Bar struct {
	bar *progressbar.ProgressBar
	out *late
}

// Start begins work of so many steps, to be shown on w if that is a terminal.
func Start(w io.Writer, what string, total int) *Bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return newBar(&late{w: w, from: time.Now().Add(patience)}, what, total)
}

func newBar(out *late, what string, total int) *Bar {
	return &Bar{out: out, bar: progressbar.NewOptions(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())}
}

// Step says that one more is done.
func (b *Bar) Step() { b.Add(1) }

// Add says that n more are done.
func (b *Bar) Add(n int) {
	if b != nil {
		b.bar.Add(n) // an error is of the terminal, and harms nothing
	}
}

// Done takes the bar off the terminal.
func (b *Bar) Done() {
	if b != nil && b.out.shown {
		b.bar.Clear()
	}
}

// late drops what is written before its time: the bar is there from the start,
// so that its rate is true.
type late struct {
	w     io.Writer
	from  time.Time
	shown bool
}

func (l *late) Write(p []byte) (int, error) {
	if time.Now().Before(l.from) {
		return len(p), nil
	}
	l.shown = true
	return l.w.Write(p)
}

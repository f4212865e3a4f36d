package text

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressDelay is how long work must take before its progress is shown.
const progressDelay = time.Second

// Progress shows the progress of long work on a terminal: the number of steps
// done, the rate and the time left. It shows nothing for work of less than a
// second. A nil *Progress shows nothing. It may be used by several goroutines.
type Progress struct {
	bar *progressbar.ProgressBar
	out *delayed
}

// StartProgress returns the Progress of work with total steps, shown on w. It
// returns nil if w is not a terminal.
func StartProgress(w io.Writer, what string, total int) *Progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return newProgress(&delayed{w: w, from: time.Now().Add(progressDelay)}, what, total)
}

func newProgress(out *delayed, what string, total int) *Progress {
	return &Progress{out: out, bar: progressbar.NewOptions(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetWidth(20),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())}
}

// Step reports one step as done.
func (b *Progress) Step() { b.Add(1) }

// Add reports n steps as done.
func (b *Progress) Add(n int) {
	if b != nil {
		b.bar.Add(n) // an error to write to the terminal does no harm
	}
}

// Done removes the bar from the terminal.
func (b *Progress) Done() {
	if b != nil && b.out.shown {
		b.bar.Clear()
	}
}

// delayed drops what is written before a time. The bar itself exists from the
// start, so that its rate is correct.
type delayed struct {
	w     io.Writer
	from  time.Time
	shown bool
}

func (l *delayed) Write(p []byte) (int, error) {
	if time.Now().Before(l.from) {
		return len(p), nil
	}
	l.shown = true
	return l.w.Write(p)
}

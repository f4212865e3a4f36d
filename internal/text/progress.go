package text

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progressDelay is how long work goes on before its progress is shown.
const progressDelay = time.Second

// Progress shows on a terminal how far long work has come, at which rate, and how
// long it still takes. Work of less than a second shows nothing. A nil Progress
// shows nothing. Several goroutines may use it.
type Progress struct {
	bar *progressbar.ProgressBar
	out *delayed
}

// StartProgress begins work of so many steps, to be shown on w if that is a terminal.
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

// Step says that one more is done.
func (b *Progress) Step() { b.Add(1) }

// Add says that n more are done.
func (b *Progress) Add(n int) {
	if b != nil {
		b.bar.Add(n) // an error is of the terminal, and harms nothing
	}
}

// Done takes the bar off the terminal.
func (b *Progress) Done() {
	if b != nil && b.out.shown {
		b.bar.Clear()
	}
}

// delayed drops what is written before its time: the bar is there from the start,
// so that its rate is true.
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

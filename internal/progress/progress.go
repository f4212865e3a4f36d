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

	"github.com/mpitrace/mpitrace/profile"
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

// Watch shows how far each walk over a source is. How many processes it has is
// known after the first.
func Watch(w io.Writer, what string, src profile.Source) profile.Source {
	return &watched{w, what, src, -1}
}

type watched struct {
	w     io.Writer
	what  string
	src   profile.Source
	total int
}

func (s *watched) Each(f func(*profile.Profile) error) error {
	bar, n := Start(s.w, s.what, s.total), 0
	defer bar.Done()
	err := s.src.Each(func(p *profile.Profile) error {
		n++
		bar.Step()
		return f(p)
	})
	if err == nil {
		s.total = n
	}
	return err
}

// WatchEvents shows on a bar how many events were read of sources, which end as
// they did. Sources may be read at the same time.
func (b *Bar) WatchEvents(srcs []profile.EventSource) []profile.EventSource {
	out := make([]profile.EventSource, len(srcs))
	for i, src := range srcs {
		out[i] = &watchedEvents{src, b}
	}
	return out
}

type watchedEvents struct {
	profile.EventSource
	bar *Bar
}

func (s *watchedEvents) Each(f func(*profile.Events, []profile.EventKind) error) error {
	return s.EventSource.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		s.bar.Add(e.Len())
		return f(e, kinds)
	})
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

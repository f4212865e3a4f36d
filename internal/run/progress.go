package run

import (
	"io"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// WithProgress returns src with a progress bar on w for each walk over it. From
// the second walk on, the bar shows the number of processes.
func WithProgress(w io.Writer, what string, src profile.Source) profile.Source {
	return &shownSource{w, what, src, -1}
}

type shownSource struct {
	w     io.Writer
	what  string
	src   profile.Source
	total int
}

func (s *shownSource) Each(f func(*profile.Profile) error) error {
	bar, n := text.StartProgress(s.w, s.what, s.total), 0
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

// EventsWithProgress returns sources that add the number of events read to the
// bar. They may be read concurrently.
func EventsWithProgress(bar *text.Progress, srcs []profile.EventSource) []profile.EventSource {
	out := make([]profile.EventSource, len(srcs))
	for i, src := range srcs {
		out[i] = &shownEvents{src, bar}
	}
	return out
}

type shownEvents struct {
	profile.EventSource
	bar *text.Progress
}

func (s *shownEvents) Each(f func(*profile.Events, []profile.EventKind) error) error {
	return s.EventSource.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		s.bar.Add(e.Len())
		return f(e, kinds)
	})
}

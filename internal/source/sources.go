package source

import (
	"errors"
	"io"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// DamageList is the list of errors of an input, each with its file and
// position. An error is listed once, even if it is found both when a run is
// opened and when it is read.
type DamageList struct {
	Errors []error
	seen   map[string]bool
}

// Add adds the errors that are not nil and not in the list.
func (d *DamageList) Add(errs ...error) {
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	for _, err := range errs {
		if err != nil && !d.seen[err.Error()] {
			d.seen[err.Error()] = true
			d.Errors = append(d.Errors, err)
		}
	}
}

// damageOf returns an error with the problems that a reader found in a profile's
// recording; nil if there are none.
func damageOf(p *profile.Profile) error {
	if len(p.Problems) == 0 {
		return nil
	}
	return errors.New(text.Line(p.Damage()))
}

// damagesOf returns the damage of a profile, and that which belongs to no profile.
func damagesOf(p *profile.Profile) (errs []error) {
	for _, lost := range p.Lost {
		errs = append(errs, errors.New(lost))
	}
	return append(errs, damageOf(p)) // which may be nil
}

// DamagedError means that the input is damaged, and that nothing was written
// for it.
type DamagedError struct{ error }

func (e *DamagedError) Unwrap() error { return e.error }

// withProgress returns src with a progress bar on w for each walk over it. From the second walk on,
// the bar knows the number of processes.
func withProgress(w io.Writer, what string, src profile.Source) profile.Source {
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

package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

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

// Damage returns an error with the problems that a reader found in a profile's
// recording; nil if there are none.
func Damage(p *profile.Profile) error {
	if len(p.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("%s is damaged: %s", text.Line(cmp.Or(p.Source, fmt.Sprintf("rank %d", p.Rank))), text.Line(strings.Join(p.Problems, "; ")))
}

// Damages returns the damage of a profile, and that which belongs to no profile.
func Damages(p *profile.Profile) (errs []error) {
	for _, lost := range p.Lost {
		errs = append(errs, errors.New(lost))
	}
	return append(errs, Damage(p)) // which may be nil
}

// DamagedError means that the input is damaged, and that nothing was written
// for it.
type DamagedError struct{ error }

func (e *DamagedError) Unwrap() error { return e.error }

// IntactSource is a source that ends with a DamagedError if any of it is
// damaged. In tables, damage is found only while they are read: output made
// until then must be discarded.
type IntactSource struct {
	profile.Source
	damage DamageList
	all    bool // whether all damage is known before the profiles are read
	skip   bool // whether damage is reported and skipped
	log    io.Writer
}

// Intact returns src as an IntactSource, or with skip as a source without the
// damaged parts.
func Intact(src profile.Source, skip bool, log io.Writer) (*IntactSource, error) {
	g := &IntactSource{Source: src, skip: skip, log: log}
	if opened, ok := src.(*Run); ok {
		g.all = true
		g.damage.Add(opened.Damaged...)
		return g, g.checkDamage()
	}
	return g, nil
}

// Each implements profile.Source.
func (g *IntactSource) Each(f func(*profile.Profile) error) error {
	if g.all {
		return g.Source.Each(f)
	}
	err := g.Source.Each(func(p *profile.Profile) error {
		g.damage.Add(Damages(p)...)
		return f(p)
	})
	if err != nil {
		return err
	}
	g.all = true
	return g.checkDamage()
}

func (g *IntactSource) checkDamage() error {
	if len(g.damage.Errors) == 0 {
		return nil
	}
	if !g.skip {
		return &DamagedError{fmt.Errorf("%w\nthe input is damaged, nothing is written: --skip-damaged exports the rest", errors.Join(g.damage.Errors...))}
	}
	for _, err := range g.damage.Errors {
		fmt.Fprintf(g.log, "mpitrace: skipped: %s\n", text.Lines(err.Error()))
	}
	return nil
}

// Checked reports whether all damage is known before the source is read.
func (g *IntactSource) Checked() bool { return g.all }

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

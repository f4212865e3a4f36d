package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// DamageList is what could not be read of an input, each error with its file and
// place, and once: it may be found as a run is opened and again as it is read.
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

// DamagedError says that the input is damaged, and that nothing was written for it.
type DamagedError struct{ error }

func (e *DamagedError) Unwrap() error { return e.error }

// IntactSource is a source that ends in a DamagedError if any of it is damaged. Tables tell
// only as they are read: what was made of it until then is to be thrown away.
type IntactSource struct {
	profile.Source
	damage DamageList
	all    bool // damage is all there is, profiles need not be looked at
	skip   bool // the damage is said and skipped
	log    io.Writer
}

// Intact returns src, or with skip src without what is damaged. The source ends in a
// DamagedError if any of it is damaged; known is what is damaged besides the
// profiles.
func Intact(src profile.Source, known []error, skip bool, log io.Writer) (*IntactSource, error) {
	g := &IntactSource{Source: src, skip: skip, log: log}
	if opened, ok := src.(*Run); ok {
		known, g.all = opened.Damaged, true
	}
	g.damage.Add(known...)
	if g.all || len(known) > 0 && !skip {
		return g, g.judge()
	}
	return g, nil
}

// Each implements profile.Source.
func (g *IntactSource) Each(f func(*profile.Profile) error) error {
	if g.all {
		return g.Source.Each(f)
	}
	err := g.Source.Each(func(p *profile.Profile) error {
		g.damage.Add(Damage(p))
		return f(p)
	})
	if err != nil {
		return err
	}
	g.all = true
	return g.judge()
}

func (g *IntactSource) judge() error {
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

// Checked reports whether all damage is known: the source need not be read for it.
func (g *IntactSource) Checked() bool { return g.all }

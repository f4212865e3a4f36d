package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/internal/run"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// damage is what could not be read, each with its file and place, and once.
type damage struct {
	errs []error
	seen map[string]bool
}

func (d *damage) add(errs ...error) {
	if d.seen == nil {
		d.seen = map[string]bool{}
	}
	for _, err := range errs {
		if err != nil && !d.seen[err.Error()] {
			d.seen[err.Error()] = true
			d.errs = append(d.errs, err)
		}
	}
}

// sayDamage warns of what is used all the same.
func sayDamage(log io.Writer, errs []error) {
	for _, err := range errs {
		fmt.Fprintf(log, "mpitrace: %s\n", text.Lines(err.Error()))
	}
}

// refused is damage for which nothing is written.
type refused struct{ error }

// intact is a source that ends in a refused if any of it is damaged. Tables tell
// only as they are read: what was made of it until then is to be thrown away.
type intact struct {
	profile.Source
	damage damage
	all    bool // damage is all there is, profiles need not be looked at
	skip   bool // the damage is said and skipped
	log    io.Writer
}

// guard takes what is known to be damaged besides the profiles.
func guard(src profile.Source, known []error, skip bool, log io.Writer) (*intact, error) {
	g := &intact{Source: src, skip: skip, log: log}
	if opened, ok := src.(*run.Run); ok {
		known, g.all = opened.Damaged, true
	}
	g.damage.add(known...)
	if g.all || len(known) > 0 && !skip {
		return g, g.judge()
	}
	return g, nil
}

// Each implements profile.Source.
func (g *intact) Each(f func(*profile.Profile) error) error {
	if g.all {
		return g.Source.Each(f)
	}
	err := g.Source.Each(func(p *profile.Profile) error {
		g.damage.add(run.Damage(p))
		return f(p)
	})
	if err != nil {
		return err
	}
	g.all = true
	return g.judge()
}

func (g *intact) judge() error {
	if len(g.damage.errs) == 0 {
		return nil
	}
	if !g.skip {
		return refused{fmt.Errorf("%w\nthe input is damaged, nothing is written: --skip-damaged exports the rest", errors.Join(g.damage.errs...))}
	}
	for _, err := range g.damage.errs {
		fmt.Fprintf(g.log, "mpitrace: skipped: %s\n", text.Lines(err.Error()))
	}
	return nil
}

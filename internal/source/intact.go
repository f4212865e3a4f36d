package source

import (
	"errors"
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

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

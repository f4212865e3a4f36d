package source

import (
	"errors"
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// IntactSource is a run whose reading ends with a DamagedError if any part of it is damaged. If not
// all profiles were read when the run was opened, damage may be found only while they are read;
// output made until then must be discarded.
type IntactSource struct {
	*Run
	damage DamageList
	all    bool // whether all damage is known before the profiles are read
	skip   bool // whether damage is reported and skipped
	log    io.Writer
}

// Intact returns a run as an IntactSource, or with skip as a source without the
// damaged parts.
func Intact(r *Run, skip bool, log io.Writer) (*IntactSource, error) {
	g := &IntactSource{Run: r, skip: skip, log: log}
	if r.tables == nil && !r.ReadOnce() {
		g.all = true
		g.damage.Add(r.Damage()...)
		return g, g.checkDamage()
	}
	return g, nil
}

// Each implements profile.Source.
func (g *IntactSource) Each(f func(*profile.Profile) error) error {
	if g.all {
		return g.Run.Each(f)
	}
	err := g.Run.Each(func(p *profile.Profile) error {
		g.damage.Add(damagesOf(p)...)
		return f(p)
	})
	if err != nil {
		return err
	}
	g.all = true
	g.damage.Add(g.Run.Damage()...)
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

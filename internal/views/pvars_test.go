package views_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

func TestWatchedText(t *testing.T) {
	j := aggregate.New(jobs.Watched())
	rank, err := j.RankSummary(1)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"watched.txt":      func(b *bytes.Buffer) error { return Summary(b, j.Summary(), Options{Top: 10}) },
		"watched_rank.txt": func(b *bytes.Buffer) error { return Rank(b, rank, Options{ASCII: true, Top: 10}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// If there are many variables, those that were always 0 are left out.
func TestTextOfManyPvars(t *testing.T) {
	p := jobs.FixtureRank(0)
	for i := range uint64(2 * views.MostPvars) {
		p.Pvars = append(p.Pvars, profile.Pvar{Name: fmt.Sprintf("v%02d", i), Class: profile.PvarCounter, Type: profile.PvarUnsigned})
		p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Pvar: int(i), Comm: -1, Count: 1})
		p.Readings = append(p.Readings, profile.Reading{Handle: int(i), Values: []uint64{i % 3}})
	}
	text := textOf(t, aggregate.New([]*profile.Profile{p}), -1)
	for _, want := range []string{"and 16 more variables, always 0\n", "and 8 more variables (mpitrace report --json)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Names that come from the MPI library or from the job are escaped.
func TestWatchedTextIsHarmless(t *testing.T) {
	const evil = "\x1b[2J\r\a\u202e\xff\u0085"
	ps := jobs.Watched()
	for _, p := range ps {
		for i := range p.Pvars {
			p.Pvars[i].Name += evil
		}
		p.Comms[0].Name = evil
		p.Settings["watch-unexpected"] = evil
		for i := range p.Late {
			p.Late[i].Call = evil
		}
		p.Readings[slices.IndexFunc(p.Readings, func(r profile.Reading) bool { return len(r.Values) == 8 })].Values = []uint64{'\x1b', '\r', 0xff, 'x'}
	}
	for _, o := range []Options{{Top: -1}, {Top: -1, ASCII: true}} {
		var b bytes.Buffer
		if err := Summary(&b, aggregate.New(ps).Summary(), o); err != nil {
			t.Fatal(err)
		}
		for i, c := range b.String() {
			if c < ' ' && c != '\n' || c == '\u202e' || c == '\u0085' || c == utf8.RuneError || o.ASCII && c > '~' {
				t.Fatalf("%q at %d of %q", c, i, b.String())
			}
		}
	}
}

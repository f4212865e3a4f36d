package matrices

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/formats/matrixfile"
	"github.com/mpitrace/mpitrace/internal/commandline"
	"github.com/mpitrace/mpitrace/profile"
)

// options holds the values of the flags, as given and as parsed by parse.
type options struct {
	program             string // the name that begins messages
	dir                 string
	force, skipDamaged  bool
	directed, symmetric bool
	self, noSelf        bool
	maxPairs            uint64 // 0 for no limit

	formatNames []string
	formats     []*matrixfile.SheetFormat

	by    string
	hosts bool // a line of the matrix is a host
	block int  // ranks per line, if not hosts

	selection       commandline.SelectionFlags
	ranks, from, to rankFlag
}

// rankFlag is the value of a flag that selects ranks, as given and as parsed by parse.
type rankFlag struct {
	name, text string
	set        profile.RankSet // nil for all
}

// rankFlags are in the order in which file names contain them.
func (o *options) rankFlags() []*rankFlag { return []*rankFlag{&o.ranks, &o.from, &o.to} }

// parse checks and parses the flags.
func (o *options) parse() error {
	var err error
	if o.directed && o.symmetric || o.self && o.noSelf {
		return errors.New("--directed and --symmetric, --self and --no-self: give one of the two")
	}
	if o.formats, err = matrixfile.Find(o.formatNames); err != nil {
		return err
	}
	if err := o.parseLines(); err != nil {
		return err
	}
	if err := o.selection.Parse(); err != nil {
		return err
	}
	for _, f := range o.rankFlags() {
		if f.text == "" {
			continue
		}
		if f.set, err = profile.ParseRankSet(f.text); err != nil {
			return fmt.Errorf("--%s: %w", f.name, err)
		}
	}
	return nil
}

func (o *options) parseLines() error {
	switch o.by {
	case "rank":
		o.block = 1
		return nil
	case "host":
		o.hosts = true
		return nil
	}
	n, err := strconv.ParseUint(o.by, 10, 31)
	if err != nil || n == 0 {
		return fmt.Errorf("--by %s: expected rank, host or a number of ranks", o.by)
	}
	o.block = int(n)
	return nil
}

// parts returns the flags that select a part of the messages, in the order in
// which file names contain them.
func (o *options) parts() []commandline.SelectedPart {
	out := o.selection.Parts()
	for _, f := range o.rankFlags() {
		if f.text != "" {
			out = append(out, commandline.SelectedPart{Name: f.name, Value: f.text})
		}
	}
	if o.noSelf {
		out = append(out, commandline.SelectedPart{Name: "no-self"})
	}
	return out
}

// selected describes the selection in words. It is empty if everything is
// selected.
func (o *options) selected() string { return commandline.InWords(o.parts()) }

// slug returns the part of file names that describes the flags, such as ".call-Isend.by-host", so
// that a selection is not mistaken for the whole. It is empty for a .mat file of all messages by
// rank, which keeps the name that Open MPI's script gives it.
func (o *options) slug(f *matrixfile.SheetFormat) string {
	parts := o.parts()
	if o.by != "rank" {
		parts = append(parts, commandline.SelectedPart{Name: "by", Value: o.by})
	}
	if o.symmetric && f.Name != "mat" {
		parts = append(parts, commandline.SelectedPart{Name: "symmetric"})
	}
	out := ""
	for _, p := range parts {
		out += "." + strings.TrimSuffix(p.Name+"-"+tame(p.Value), "-")
	}
	const most = 100 // a file name may have 255 bytes
	if len(out) > most {
		sum := fnv.New32a()
		sum.Write([]byte(out))
		out = fmt.Sprintf("%s-%08x", out[:most], sum.Sum32())
	}
	return out
}

// tame replaces the characters of text that are unfit for a file name.
func tame(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("_.,+-", r):
			return r
		}
		return '-'
	}, text)
}

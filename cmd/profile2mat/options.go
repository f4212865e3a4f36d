package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/matrixfile"
	"github.com/mpitrace/mpitrace/profile"
)

// options holds the values of the flags, as given and as parsed by parse.
type options struct {
	dir                 string
	force, skipDamaged  bool
	directed, symmetric bool
	self, noSelf        bool
	maxPairs            uint64 // 0 for no limit

	formatNames []string
	formats     []*matrixfile.Format

	by    string
	hosts bool // a line of the matrix is a host
	block int  // ranks per line, if not hosts

	classes, directions         []string
	sizes                       string
	selection                   matrix.Selection
	ranksText, fromText, toText string
	ranks, from, to             profile.RankSet // nil for all
}

// classes are the values of --class. other is a second name, used in the names
// of matrix files.
var classes = []struct {
	name, other string
	of          []profile.Class
}{
	{"p2p", "", []profile.Class{profile.P2P}},
	{"O2A", "", []profile.Class{profile.OneToAll}},
	{"A2O", "", []profile.Class{profile.AllToOne}},
	{"A2A", "", []profile.Class{profile.AllToAll}},
	{"one-sided", "osc", []profile.Class{profile.OneSided}},
	{"coll", "", []profile.Class{profile.OneToAll, profile.AllToOne, profile.AllToAll}},
}

// physical is the class of the messages as the MPI library sent them. They are
// never added to the volume that the calls requested.
const physical = "physical"

func classNames() []string {
	var out []string
	for _, c := range classes {
		name := c.name
		if c.other != "" {
			name += " (or " + c.other + ")"
		}
		out = append(out, name)
	}
	return append(out, physical)
}

// classWords returns all names that --class accepts.
func classWords() []string {
	var words []string
	for _, c := range classes {
		if words = append(words, c.name); c.other != "" {
			words = append(words, c.other)
		}
	}
	return append(words, physical)
}

// classesNamed returns the classes of calls that a value of --class selects.
func classesNamed(name string) ([]profile.Class, bool) {
	for _, c := range classes {
		if name == c.name || name == c.other && name != "" {
			return c.of, true
		}
	}
	return nil, false
}

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
	for _, name := range o.classes {
		of, ok := classesNamed(name)
		switch {
		case name == physical:
			o.selection.Physical = true
		case !ok:
			return fmt.Errorf("unknown class %q: the classes are %s", name, strings.Join(classNames(), ", "))
		default:
			o.selection.Classes = append(o.selection.Classes, of...)
		}
	}
	if err := o.parseDirections(); err != nil {
		return err
	}
	for _, set := range []struct {
		flag, text string
		ranks      *profile.RankSet
	}{{"ranks", o.ranksText, &o.ranks}, {"from", o.fromText, &o.from}, {"to", o.toText, &o.to}} {
		if set.text == "" {
			continue
		}
		if *set.ranks, err = profile.ParseRankSet(set.text); err != nil {
			return fmt.Errorf("--%s: %w", set.flag, err)
		}
	}
	if o.selection.SizeClasses, err = parseSizeClasses(o.sizes); err != nil {
		return fmt.Errorf("--size-class: %w", err)
	}
	if s := &o.selection; s.Physical && (len(s.Classes)+len(s.Directions) > 0 || s.NeedsProfiles() != "") {
		return fmt.Errorf("--class %s can be combined only with --ranks, --from, --to and --no-self: of the messages of the MPI library only sender and receiver are known", physical)
	}
	return nil
}

// parseSizeClasses parses a set of message size classes such as 0-11. It has
// the syntax of sets of ranks.
func parseSizeClasses(text string) ([]uint8, error) {
	if text == "" {
		return nil, nil
	}
	set, err := profile.ParseRankSet(text)
	if err != nil {
		return nil, err
	}
	if set[len(set)-1].Last >= profile.NumSizeClasses {
		return nil, fmt.Errorf("the classes are 0 to %d", profile.NumSizeClasses-1)
	}
	var out []uint8
	for class := range uint8(profile.NumSizeClasses) {
		if set.Contains(int(class)) {
			out = append(out, class)
		}
	}
	return out, nil
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

func (o *options) parseDirections() error {
	for _, name := range o.directions {
		d, ok := profile.ParseDirection(name)
		switch {
		case !ok || d == profile.None:
			return fmt.Errorf("unknown direction %q: the directions are send, recv, write, read", name)
		case d == profile.Recv && len(o.directions) > 1:
			return errors.New("--direction recv cannot be combined with another: messages would be counted twice")
		case d == profile.Recv:
			o.selection.Received = true
		default:
			o.selection.Directions = append(o.selection.Directions, d)
		}
	}
	return nil
}

// part is a flag that selects a part of the messages, and its value.
type part struct{ name, value string }

// parts returns the flags that select a part of the messages, in the order in
// which file names contain them.
func (o *options) parts() []part {
	var out []part
	for _, list := range []struct {
		name   string
		values []string
	}{{"class", o.classes}, {"call", o.selection.Calls}, {"comm", o.selection.Comms}, {"slice", o.selection.Slices},
		{"size-class", one(o.sizes)}, {"callsite", o.selection.Callsites}, {"direction", o.directions},
		{"ranks", one(o.ranksText)}, {"from", one(o.fromText)}, {"to", one(o.toText)}} {
		if len(list.values) > 0 {
			out = append(out, part{list.name, strings.Join(list.values, ",")})
		}
	}
	if o.noSelf {
		out = append(out, part{"no-self", ""})
	}
	return out
}

func one(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// selected describes the selection in words. It is empty if everything is
// selected.
func (o *options) selected() string {
	var out []string
	for _, p := range o.parts() {
		out = append(out, strings.TrimSpace(p.name+" "+p.value))
	}
	return strings.Join(out, ", ")
}

// slug returns the part of file names that describes the flags, such as
// ".call-Isend.by-host", so that a selection is not mistaken for the whole. A
// .mat file of all messages by rank has none and keeps the name that Open MPI's
// script gives it.
func (o *options) slug(f *matrixfile.Format) string {
	parts := o.parts()
	if o.by != "rank" {
		parts = append(parts, part{"by", o.by})
	}
	if o.symmetric && f.Name != "mat" {
		parts = append(parts, part{"symmetric", ""})
	}
	out := ""
	for _, p := range parts {
		out += "." + strings.TrimSuffix(p.name+"-"+tame(p.value), "-")
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

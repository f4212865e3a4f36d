package commandline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// SelectionFlags holds the flags that select a part of the traffic of a job, by its calls.
type SelectionFlags struct {
	matrix.Selection // set by Parse, the lists of texts by the flags

	ClassNames, directions []string
	Sizes                  string // as given
}

// AddSelection adds the flags.
func AddSelection(cmd *cobra.Command, s *SelectionFlags) {
	f := cmd.Flags()
	f.StringSliceVar(&s.ClassNames, "class", nil, "`classes` of calls: "+strings.Join(classNames(), ", "))
	f.StringSliceVar(&s.Calls, "call", nil, "MPI `functions`: Isend, MPI_Allreduce")
	f.StringArrayVar(&s.Comms, "comm", nil, "`communicator`: its name, its label or the start of its id; may be repeated")
	f.StringArrayVar(&s.Slices, "slice", nil, "name of a `slice` of the run; may be repeated")
	f.StringVar(&s.Sizes, "size-class", "", "size classes of messages, a `set` such as 0-11: class 0 has empty messages, class k those of 2^(k-1) to 2^k - 1 bytes")
	f.StringArrayVar(&s.Callsites, "callsite", nil, "`text` that a call site contains, such as a function or file:line; may be repeated")
	f.StringSliceVar(&s.directions, "direction", nil, "`send`, write, read (one-sided), or recv: point-to-point messages as the receivers saw them")
	CompleteFlag(cmd, "class", classWords()...)
	CompleteFlag(cmd, "direction", "send", "write", "read", "recv")
}

// classes are the values of --class. other is a second name, used in the names
// of matrix files.
var classes = []struct {
	name, other string
	of          []profile.Class
}{
	{"p2p", "external", []profile.Class{profile.P2P}},
	{"O2A", "", []profile.Class{profile.OneToAll}},
	{"A2O", "", []profile.Class{profile.AllToOne}},
	{"A2A", "", []profile.Class{profile.AllToAll}},
	{"one-sided", "osc", []profile.Class{profile.OneSided}},
	{"coll", "", []profile.Class{profile.OneToAll, profile.AllToOne, profile.AllToAll}},
	{"direct", "", []profile.Class{profile.P2P, profile.OneSided}},
	{"all", "", nil}, // no class is left out
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

// Parse checks the flags and sets the Selection.
func (s *SelectionFlags) Parse() error {
	everything := false
	for _, name := range s.ClassNames {
		of, ok := classesNamed(name)
		switch {
		case name == physical:
			s.Physical = true
		case !ok:
			return fmt.Errorf("unknown class %q: the classes are %s", name, strings.Join(classNames(), ", "))
		}
		everything = everything || ok && of == nil
		s.Classes = append(s.Classes, of...)
	}
	if err := s.parseDirections(); err != nil {
		return err
	}
	var err error
	if s.SizeClasses, err = parseSizeClasses(s.Sizes); err != nil {
		return fmt.Errorf("--size-class: %w", err)
	}
	if s.Physical && (len(s.ClassNames) > 1 || len(s.Directions) > 0 || s.NeedsProfiles() != "") {
		return fmt.Errorf("--class %s can be combined only with --ranks, --from, --to and --no-self: of the messages of the MPI library only sender and receiver are known", physical)
	}
	if everything {
		s.Classes = nil
	}
	return nil
}

func (s *SelectionFlags) parseDirections() error {
	for _, name := range s.directions {
		d, ok := profile.ParseDirection(name)
		switch {
		case !ok || d == profile.None:
			return fmt.Errorf("unknown direction %q: the directions are send, recv, write, read", name)
		case d == profile.Recv && len(s.directions) > 1:
			return errors.New("--direction recv cannot be combined with another: messages would be counted twice")
		case d == profile.Recv:
			s.Received = true
		default:
			s.Directions = append(s.Directions, d)
		}
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

// SelectedPart is a flag that selects a part of the traffic, and its value.
type SelectedPart struct{ Name, Value string }

// Parts returns the flags that were given, in a fixed order.
func (s *SelectionFlags) Parts() []SelectedPart {
	var out []SelectedPart
	for _, list := range []struct {
		name   string
		values []string
	}{{"class", s.ClassNames}, {"call", s.Calls}, {"comm", s.Comms}, {"slice", s.Slices},
		{"size-class", slices.DeleteFunc([]string{s.Sizes}, func(text string) bool { return text == "" })},
		{"callsite", s.Callsites}, {"direction", s.directions}} {
		if len(list.values) > 0 {
			out = append(out, SelectedPart{list.name, strings.Join(list.values, ",")})
		}
	}
	return out
}

// Kinds reports whether classes, calls or directions were selected.
func (s *SelectionFlags) Kinds() bool { return len(s.ClassNames)+len(s.Calls)+len(s.directions) > 0 }

// InWords describes parts of the traffic in words; empty if there are none.
func InWords(parts []SelectedPart) string {
	var out []string
	for _, p := range parts {
		out = append(out, strings.TrimSpace(p.Name+" "+p.Value))
	}
	return strings.Join(out, ", ")
}

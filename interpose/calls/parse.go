package calls

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// File holds the contents of calls.txt.
type File struct {
	Traits []Trait
	Calls  []Call

	policies map[string]*policy
	names    map[string]bool
}

// policy holds the parameters of a policy, and its functions.
type policy struct {
	parameters []string
	begin, end Step
	used       bool
}

// Parse parses the table. Errors contain the line number.
func Parse(text string) (*File, error) {
	f := &File{policies: map[string]*policy{}, names: map[string]bool{}}
	for n, line := range strings.Split(text, "\n") {
		var err error
		switch kind, rest, _ := strings.Cut(line, " "); {
		case line == "" || kind[:min(1, len(kind))] == "#":
		case kind == "trait":
			err = f.addTrait(rest)
		case kind == "": // continues the previous line
			err = f.goOn(strings.TrimSpace(rest))
		case kind == "policy":
			err = f.addPolicy(rest)
		default:
			err = f.addCall(line)
		}
		if err != nil {
			return nil, fmt.Errorf("calls.txt:%d: %w", n+1, err)
		}
	}
	return f, f.checkUse()
}

// checkUse returns an error if no call has a declared trait or policy.
func (f *File) checkUse() error {
	for name, p := range f.policies {
		if !p.used {
			return fmt.Errorf("calls.txt: no call has policy %s", name)
		}
	}
	var used uint64
	for i := range f.Calls {
		used |= f.Calls[i].Traits
	}
	for i, t := range f.Traits {
		if used>>i&1 == 0 {
			return fmt.Errorf("calls.txt: no call has trait %s", t.Name)
		}
	}
	return nil
}

func (f *File) addTrait(line string) error {
	name, doc, _ := strings.Cut(line, " ")
	if _, twice := f.bit(name); twice || name == "" {
		return fmt.Errorf("trait %q is declared twice, or has no name", name)
	}
	if len(f.Traits) == 64 {
		return errors.New("more than 64 traits")
	}
	f.Traits = append(f.Traits, Trait{name, strings.TrimSpace(doc)})
	return nil
}

// goOn appends a line to the description of the last trait.
func (f *File) goOn(line string) error {
	if len(f.Traits) == 0 || len(f.Calls) > 0 {
		return errors.New("an indented line follows a trait only")
	}
	f.Traits[len(f.Traits)-1].Doc += " " + line
	return nil
}

// parseForm parses a name with arguments in parentheses.
func parseForm(text string) (name string, arguments []string, ok bool) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), "(")
	list, ok := strings.CutSuffix(rest, ")")
	return name, splitArguments(list), ok && name != ""
}

// addPolicy parses a policy: `recv(comm, seen) = begin_recv(comm, tag),
// end_recv(seen)`. The first function may be `nothing`.
func (f *File) addPolicy(line string) error {
	left, right, _ := strings.Cut(line, " = ")
	name, parameters, ok := parseForm(left)
	if steps := splitArguments(right); ok && len(steps) == 2 {
		p := &policy{parameters: parameters}
		begins, ends := p.begin.parse(steps[0]), p.end.parse(steps[1])
		if f.policies[name] != nil {
			return fmt.Errorf("policy %s is declared twice", name)
		}
		f.policies[name] = p
		ok = ends && (begins || steps[0] == "nothing")
	} else {
		ok = false
	}
	if !ok {
		return errors.New("a policy is `name(parameters) = begin_x(arguments), end_x(arguments)`, or `= nothing, end_x(arguments)`")
	}
	return nil
}

// parse sets a step to a function with arguments. It returns false, and leaves
// the step empty, if the text is not one.
func (s *Step) parse(text string) bool {
	function, arguments, ok := parseForm(text)
	if ok {
		*s = Step{function, arguments}
	}
	return ok
}

func (f *File) addCall(line string) error {
	c, err := f.parseRow(line)
	if err != nil {
		return err
	}
	if n := len(f.Calls); n > 0 && c.ID <= f.Calls[n-1].ID {
		return fmt.Errorf("id %d is not above the one before", c.ID)
	}
	for _, name := range c.Names() {
		if f.names[name] {
			return fmt.Errorf("%s is listed twice", name)
		}
		f.names[name] = true
	}
	f.Calls = append(f.Calls, c)
	return nil
}

func (f *File) parseRow(line string) (Call, error) {
	col := strings.Split(line, "|")
	if len(col) != 7 {
		return Call{}, fmt.Errorf("%d fields, want 7", len(col))
	}
	for i := range col {
		col[i] = strings.TrimSpace(col[i])
	}
	id, err := strconv.ParseUint(col[0], 10, 16)
	if err != nil || id == 0 {
		return Call{}, fmt.Errorf("id %q is not a number above 0", col[0])
	}
	names := strings.Fields(col[1])
	if len(names) == 0 {
		return Call{}, errors.New("no name")
	}
	c := Call{ID: uint16(id), Name: names[0], Others: names[1:], Class: col[2], Spread: col[3], policy: col[5]}
	c.Params, err = parseParams(col[6])
	return c, cmp.Or(err, f.setTraits(&c, col[4]), f.setSteps(&c))
}

func (f *File) setTraits(c *Call, list string) error {
	if list == "-" {
		return nil
	}
	for _, name := range strings.Fields(list) {
		bit, ok := f.bit(name)
		if !ok || c.Traits&bit != 0 {
			return fmt.Errorf("MPI_%s: trait %q is not declared, or is listed twice", c.Name, name)
		}
		c.Traits |= bit
	}
	if c.Traits == 0 {
		return fmt.Errorf("MPI_%s: no traits are written as -", c.Name)
	}
	return nil
}

// setSteps sets the functions of the call's policy. The policy's parameters are
// replaced by the arguments of the call.
func (f *File) setSteps(c *Call) error {
	if c.Hand() {
		return nil
	}
	name, arguments, ok := parseForm(c.policy)
	p := f.policies[name]
	if !ok || p == nil {
		return fmt.Errorf("MPI_%s: %q is not a policy that is declared", c.Name, c.policy)
	}
	p.used, c.Policy = true, name
	if len(arguments) != len(p.parameters) {
		return fmt.Errorf("MPI_%s: policy %s has %d arguments, want %d", c.Name, name, len(arguments), len(p.parameters))
	}
	var begins, ends error
	c.Begin, begins = p.step(p.begin, c, arguments)
	c.End, ends = p.step(p.end, c, arguments)
	return cmp.Or(begins, ends)
}

// step returns a function of the policy with the arguments of a call.
func (p *policy) step(s Step, c *Call, arguments []string) (Step, error) {
	out := Step{Function: s.Function}
	for _, a := range s.Arguments {
		if i := slices.Index(p.parameters, a); i >= 0 {
			a = arguments[i]
		} else if !constant(a) && !slices.ContainsFunc(c.Params, func(q Param) bool { return q.Name == a }) {
			return Step{}, fmt.Errorf("MPI_%s: %s needs a parameter %s, which neither its policy nor the call has", c.Name, s.Function, a)
		}
		out.Arguments = append(out.Arguments, a)
	}
	return out, nil
}

// constant reports whether an argument is the same for all calls of a policy.
func constant(argument string) bool {
	return strings.HasPrefix(argument, "MT_") || argument[0] >= '0' && argument[0] <= '9'
}

// splitArguments splits a list at the commas outside parentheses.
func splitArguments(list string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			out = append(out, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	if rest := strings.TrimSpace(list[start:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

func parseParams(text string) ([]Param, error) {
	if text == "void" {
		return nil, nil
	}
	var params []Param
	for _, p := range strings.Split(text, ",") {
		p = strings.TrimSpace(p)
		if p == "..." {
			params = append(params, Param{Type: "..."})
			continue
		}
		cut := strings.LastIndexAny(p, " *")
		if cut < 0 {
			return nil, fmt.Errorf("parameter %q has no type", p)
		}
		name, suffix, array := strings.Cut(p[cut+1:], "[")
		if array {
			suffix = "[" + suffix
		}
		params = append(params, Param{Type: strings.TrimSpace(p[:cut+1]), Name: name, Suffix: suffix})
	}
	return params, nil
}

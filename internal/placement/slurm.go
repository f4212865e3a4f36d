package placement

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// A Network is a tree of switches with nodes, of which only the names are known.
type Network struct {
	root   *domain
	levels []string // of the switches, lowest first
	name   string   // of the file
}

// A slurmSwitch is a line of topology.conf.
type slurmSwitch struct {
	name            string
	line            int
	nodes, switches []string
	parent          *slurmSwitch
	height          int // 1 + that of its highest switch; -1 while this is computed
}

// A slurmFile is what has been read of a topology.conf.
type slurmFile struct {
	name     string
	switches []*slurmSwitch
	byName   map[string]*slurmSwitch
	leaf     map[string]*slurmSwitch // by node
}

// maxSwitchDepth bounds the height of a tree of switches.
const maxSwitchDepth = 32

// ReadSlurm reads the topology.conf of Slurm's plugins topology/tree and topology/block:
// lines with SwitchName= and Nodes= or Switches=, or BlockName= and Nodes=. A block is
// read as a switch. LinkSpeed and BlockSizes are ignored. Errors name the file and the
// line.
func ReadSlurm(r io.Reader, name string) (*Network, error) {
	f := slurmFile{name: name, byName: map[string]*slurmSwitch{}, leaf: map[string]*slurmSwitch{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxTopologyFile)
	var whole strings.Builder // of a line that goes on after a backslash
	first := 0
	for n := 1; lines.Scan(); n++ {
		if whole.Len() == 0 {
			first = n
		}
		line, _, _ := strings.Cut(lines.Text(), "#")
		line, goesOn := strings.CutSuffix(strings.TrimSpace(line), `\`)
		whole.WriteString(line + " ")
		if goesOn {
			continue
		}
		if err := f.addLine(whole.String(), first); err != nil {
			return nil, err
		}
		whole.Reset()
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if err := f.addLine(whole.String(), first); err != nil {
		return nil, err
	}
	return f.network()
}

func (f *slurmFile) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: "+format, append([]any{text.Line(f.name), line}, args...)...)
}

// addLine adds the switch of a line, if it has one.
func (f *slurmFile) addLine(line string, n int) error {
	s := &slurmSwitch{line: n}
	for _, word := range strings.Fields(line) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return f.errorAt(n, "%.40q is not KEY=VALUE; a line reads SwitchName=s1 Nodes=n[1-8], or Switches=s[1-4]", word)
		}
		var err error
		switch strings.ToLower(key) {
		case "switchname", "blockname":
			s.name = value
		case "nodes":
			s.nodes, err = expandHostlist(value)
		case "switches":
			s.switches, err = expandHostlist(value)
		case "linkspeed", "blocksizes":
		default:
			err = fmt.Errorf("key %.40q is not known", key)
		}
		if err != nil {
			return f.errorAt(n, "%w", err)
		}
	}
	switch {
	case s.name == "" && s.nodes == nil && s.switches == nil:
		return nil
	case s.name == "":
		return f.errorAt(n, "the switch has no name")
	case f.byName[s.name] != nil:
		return f.errorAt(n, "switch %s is defined again, first in line %d", s.name, f.byName[s.name].line)
	case s.nodes == nil && s.switches == nil:
		return f.errorAt(n, "switch %s has neither nodes nor switches", s.name)
	}
	for _, node := range s.nodes {
		if of := f.leaf[node]; of != nil {
			return f.errorAt(n, "node %s is in switch %s and, by line %d, in switch %s", node, s.name, of.line, of.name)
		}
		f.leaf[node] = s
	}
	if len(f.leaf) > maxNodes {
		return f.errorAt(n, "more than %s nodes", text.Count(maxNodes))
	}
	f.byName[s.name] = s
	f.switches = append(f.switches, s)
	return nil
}

// network returns the tree of the switches.
func (f *slurmFile) network() (*Network, error) {
	for _, s := range f.switches {
		for _, name := range s.switches {
			inner := f.byName[name]
			switch {
			case inner == nil:
				return nil, f.errorAt(s.line, "switch %s is not defined", name)
			case inner.parent != nil:
				return nil, f.errorAt(s.line, "switch %s is in switch %s and, by line %d, in switch %s", name, s.name, inner.parent.line, inner.parent.name)
			}
			inner.parent = s
		}
	}
	n := &Network{root: &domain{}, name: text.Line(f.name)}
	for _, s := range f.switches {
		if err := f.setHeight(s, 1); err != nil {
			return nil, err
		}
		for len(n.levels) < s.height {
			n.levels = append(n.levels, switchName(len(n.levels)+1))
		}
	}
	for _, s := range f.switches {
		if s.parent == nil {
			n.root.inner = append(n.root.inner, f.domain(s))
		}
	}
	if len(f.leaf) == 0 {
		return nil, fmt.Errorf("%s: it has no nodes", n.name)
	}
	return n, nil
}

// setHeight computes the height of a switch that is in depth-1 others.
func (f *slurmFile) setHeight(s *slurmSwitch, depth int) error {
	switch {
	case s.height > 0:
		return nil
	case s.height < 0:
		return f.errorAt(s.line, "switch %s is within itself", s.name)
	case depth > maxSwitchDepth:
		return f.errorAt(s.line, "switch %s is in more than %d others", s.name, maxSwitchDepth)
	}
	s.height = -1
	height := 1
	for _, name := range s.switches {
		inner := f.byName[name]
		if err := f.setHeight(inner, depth+1); err != nil {
			return err
		}
		height = max(height, inner.height+1)
	}
	if height > maxSwitchDepth {
		return f.errorAt(s.line, "switch %s has more than %d levels of switches below it", s.name, maxSwitchDepth)
	}
	s.height = height
	return nil
}

func (f *slurmFile) domain(s *slurmSwitch) *domain {
	d := &domain{level: switchName(s.height)}
	for _, node := range s.nodes {
		d.inner = append(d.inner, &domain{level: NodeLevel, host: node})
	}
	for _, name := range s.switches {
		d.inner = append(d.inner, f.domain(f.byName[name]))
	}
	return d
}

// maxNodes bounds the nodes of a topology.conf.
const maxNodes = 1 << 20

// expandHostlist returns the names of a list such as "a,n[01-04,7],r[1-2]c[0-3]". Numbers
// have as many digits as the first one of their range.
func expandHostlist(list string) ([]string, error) {
	var out []string
	for _, word := range splitOutsideBrackets(list) {
		names := []string{""}
		for word != "" {
			prefix, rest, bracket := strings.Cut(word, "[")
			numbers := []string{""}
			inside, after, closed := strings.Cut(rest, "]")
			if bracket != closed || strings.Contains(prefix, "]") {
				return nil, fmt.Errorf("list %q: brackets do not match", list)
			}
			if word = rest; bracket {
				var err error
				if numbers, err = expandRanges(inside); err != nil {
					return nil, fmt.Errorf("list %q: %w", list, err)
				}
				word = after
			}
			if len(names)*len(numbers) > maxNodes {
				return nil, fmt.Errorf("list %q: more than %s names", list, text.Count(maxNodes))
			}
			names = crossed(names, prefix, numbers)
		}
		if len(names) == 1 && names[0] == "" {
			return nil, fmt.Errorf("list %q: a name is missing", list)
		}
		if out = append(out, names...); len(out) > maxNodes {
			return nil, fmt.Errorf("list %q: more than %s names", list, text.Count(maxNodes))
		}
	}
	return out, nil
}

// crossed returns each name with the prefix and each of the numbers appended.
func crossed(names []string, prefix string, numbers []string) []string {
	out := make([]string, 0, len(names)*len(numbers))
	for _, name := range names {
		for _, n := range numbers {
			out = append(out, name+prefix+n)
		}
	}
	return out
}

func splitOutsideBrackets(list string) []string {
	var out []string
	start, depth := 0, 0
	for i := range len(list) {
		switch list[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth <= 0 {
				out = append(out, list[start:i])
				start = i + 1
			}
		}
	}
	return append(out, list[start:])
}

// expandRanges returns the numbers of "01-04,7" as they are written.
func expandRanges(ranges string) ([]string, error) {
	var out []string
	for part := range strings.SplitSeq(ranges, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 31)
		last, err2 := strconv.ParseUint(to, 10, 31)
		if errors.Join(err1, err2) != nil || last < first {
			return nil, fmt.Errorf("%q is neither a number nor a range such as 01-04", part)
		}
		if len(out)+int(last-first) >= maxNodes || len(from) > 10 {
			return nil, fmt.Errorf("%q: more than %s names", part, text.Count(maxNodes))
		}
		for n := first; n <= last; n++ {
			out = append(out, fmt.Sprintf("%0*d", len(from), n))
		}
	}
	return out, nil
}

// onNetwork returns the tree of the job's hosts on a network. Its nodes are as recorded,
// with the rank of each slot, or as a second topology describes them.
func (s *TopologySource) onNetwork(n *Network) (*Tree, []int, error) {
	if s.Nodes != 0 {
		return nil, nil, fmt.Errorf("%s names its nodes: a number of nodes cannot be given", n.name)
	}
	hosts, err := byHost(s.Processes, s.Ranks)
	if err != nil {
		return nil, nil, err
	}
	recorded, inSlots, err := Recorded(s.Processes, s.Ranks)
	if err != nil {
		return nil, nil, err
	}
	nodes := map[string]*hostNode{}
	for i, d := range recorded.root.inner {
		count := len(hosts[i])
		nodes[d.host] = &hostNode{domain: d, ranks: inSlots[:count]}
		inSlots = inSlots[count:]
	}
	levels, allCores := recorded.levels, false
	if len(s.Topologies) > 1 {
		inner, err := s.oneNode(s.Topologies[1])
		if err != nil {
			return nil, nil, err
		}
		for host, node := range nodes {
			node.domain, node.ranks = &domain{level: NodeLevel, host: host, inner: inner.root.content()}, nil
		}
		levels, allCores = append(slices.Clip(inner.levels), NodeLevel), inner.allCores
	}
	t, ranks, err := n.with(nodes)
	if err != nil {
		return nil, nil, err
	}
	t.levels, t.allCores = append(slices.Clip(levels), n.levels...), allCores
	return t, ranks, nil
}

// A hostNode is what is known of a host.
type hostNode struct {
	domain *domain
	ranks  []int // by slot; nil if not known
	found  bool  // in the network
}

// oneNode returns the topology of a name, which must be one node.
func (s *TopologySource) oneNode(name string) (*Tree, error) {
	t, network, err := s.named(name)
	switch {
	case err != nil:
		return nil, err
	case network != nil || t.hasNodes():
		return nil, fmt.Errorf("topology %q has nodes: give one of a node, such as \"socket:2 core:8\"", name)
	}
	return t, nil
}

// with returns the part of the network that the hosts are in, and the ranks of its slots.
func (n *Network) with(hosts map[string]*hostNode) (*Tree, []int, error) {
	find := finderOf(hosts)
	var ranks []int
	var part func(d *domain) *domain
	part = func(d *domain) *domain {
		if d.level == NodeLevel {
			h, _ := find(d.host)
			if h == nil || h.found {
				return nil
			}
			h.found = true
			ranks = append(ranks, h.ranks...)
			return h.domain
		}
		out := &domain{level: d.level}
		for _, inner := range d.inner {
			if p := part(inner); p != nil {
				out.inner = append(out.inner, p)
			}
		}
		if len(out.inner) == 0 && d != n.root {
			return nil
		}
		return out
	}
	t := &Tree{root: part(n.root)}
	for name, h := range hosts {
		if !h.found {
			return nil, nil, fmt.Errorf("%s has no node %s, on which ranks of the job ran", n.name, name)
		}
	}
	return t, ranks, nil
}

package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// specForm describes the form of a specification in errors.
const specForm = `write it as "node:4 socket:2 core:8", outermost first`

// specLevels are hwloc's and users' names of levels, with the names used here. A level with an
// empty name is left out: its slots belong to the next outer level.
var specLevels = map[string]string{
	"group": "group", "switch": switchLevel,
	"node": NodeLevel, "machine": NodeLevel,
	"socket": "socket", "package": "socket", "pack": "socket",
	"numa": "numa", "numanode": "numa",
	"l3": "l3", "l3cache": "l3", "l2": "l2", "l2cache": "l2",
	"core": coreLevel, "pu": "pu",
	"die": "", "l5": "", "l5cache": "", "l4": "", "l4cache": "",
	"l1": "", "l1cache": "", "l1d": "", "l1dcache": "", "l1i": "", "l1icache": "",
}

// A specLevel is one word of a specification: each domain of the next outer level contains count
// domains of level.
type specLevel struct {
	level string
	count int
}

// ParseSpec reads a topology in the form of hwloc's synthetic topologies, outermost
// level first: "node:4 socket:2 core:8", each of 4 nodes with 2 sockets of 8 cores. It
// is one node if no nodes are named. Slots are cores, or hardware threads if "pu" is
// given. Attributes of hwloc in parentheses, and memory in brackets, are ignored, so that
// the output of lstopo --of synthetic is read.
func ParseSpec(spec string) (*Tree, error) {
	words, err := specWords(spec)
	if err != nil {
		return nil, err
	}
	var levels []specLevel // outermost first
	slots := 1
	for i, word := range words {
		l, err := parseSpecLevel(word)
		if err == nil {
			err = checkSpecOrder(levels, l)
		}
		if err == nil && l.count > maxSlots/slots {
			err = fmt.Errorf("a topology has at most %s slots", text.Count(maxSlots))
		}
		if err != nil {
			return nil, fmt.Errorf("topology %q, word %d, %q: %w", spec, i+1, word, err)
		}
		slots *= l.count
		levels = append(levels, l)
	}
	if !slices.ContainsFunc(levels, func(l specLevel) bool { return l.level == NodeLevel }) &&
		slices.ContainsFunc(levels, specLevel.outside) {
		return nil, fmt.Errorf("topology %q: it has switches or groups but no nodes; %s", spec, specForm)
	}
	return specTree(levels), nil
}

// specWords returns the words of a specification without attributes.
func specWords(spec string) ([]string, error) {
	var b strings.Builder
	depth := 0
	for _, c := range spec {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		default:
			if depth == 0 {
				b.WriteRune(c)
			}
		}
		if depth < 0 {
			break
		}
	}
	words := strings.Fields(b.String())
	if depth != 0 {
		return nil, fmt.Errorf("topology %q: brackets do not match", spec)
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("topology %q is empty: %s", spec, specForm)
	}
	return words, nil
}

func parseSpecLevel(word string) (specLevel, error) {
	name, number, ok := strings.Cut(word, ":")
	level, known := specLevels[strings.ToLower(name)]
	if !ok || !known {
		return specLevel{}, fmt.Errorf("this is not the name of a level and a number; %s; the levels are group, switch, node, socket, numa, l3, l2, core and pu", specForm)
	}
	count, err := strconv.Atoi(number)
	if err != nil || count < 1 {
		return specLevel{}, fmt.Errorf("%q is not a number above 0", number)
	}
	return specLevel{level, count}, nil
}

// outside reports whether the level is one of the network.
func (l specLevel) outside() bool { return l.level == switchLevel || l.level == "group" }

// checkSpecOrder returns an error if a level cannot be inside the given outer levels.
func checkSpecOrder(outer []specLevel, l specLevel) error {
	for _, o := range outer {
		switch {
		case l.level == "":
		case o.level == l.level:
			return fmt.Errorf("this level is given twice")
		case o.level == "pu", o.level == coreLevel && l.level != "pu",
			l.level == "group", l.level == switchLevel && o.level != "group", l.level == NodeLevel && !o.outside():
			return fmt.Errorf("%s cannot be inside %s: give the outermost level first", l.level, o.level)
		}
	}
	return nil
}

// specTree returns the tree of levels, which are ordered outermost first. The domains of one level
// are alike, so they are one domain in memory.
func specTree(levels []specLevel) *Tree {
	last := levels[len(levels)-1].level
	t := &Tree{allCores: last == coreLevel || last == "pu"}
	d := &domain{} // a slot
	for i, l := range slices.Backward(levels) {
		isSlot := i == len(levels)-1 && t.allCores
		if l.level != "" && !isSlot {
			d = &domain{level: l.level, inner: d.content()}
			t.levels = append(t.levels, l.level)
		}
		d = &domain{inner: slices.Repeat([]*domain{d}, l.count)}
	}
	t.root = d
	return t
}

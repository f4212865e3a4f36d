package placement

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// Limits of an hwloc file.
const (
	maxHwlocDepth   = 64
	maxHwlocObjects = 1 << 20
)

// ReadHwloc reads the topology of one node from the XML of hwloc 1 or 2, such as
// lstopo --of xml writes. Slots are cores, with the processors that the operating
// system calls them by. Levels are packages, NUMA nodes that hold cores of their own, L3
// and L2 caches; other objects are left out. Errors name the file and the line.
func ReadHwloc(r io.Reader, name string) (*Tree, error) {
	p := hwlocParser{decoder: xml.NewDecoder(io.LimitReader(r, MaxTopologyFile))}
	root, err := p.parse()
	if err == nil {
		var t *Tree
		if t, err = p.tree(root); err == nil {
			return t, nil
		}
	}
	line, column := p.decoder.InputPos()
	return nil, fmt.Errorf("%s:%d:%d: %w", text.Line(name), line, column, err)
}

type hwlocParser struct {
	decoder *xml.Decoder
	objects int
}

// An hwlocObject is an object element.
type hwlocObject struct {
	kind    string
	osIndex int // -1 if it has none, or one that no processor has
	inner   []*hwlocObject
}

// parse reads the file up to the end of its first object, the machine.
func (p *hwlocParser) parse() (*hwlocObject, error) {
	for {
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("this is no topology of hwloc: it has no object")
		}
		if err != nil {
			return nil, err
		}
		start, ok := token.(xml.StartElement)
		switch {
		case !ok:
		case start.Name.Local == "object":
			return p.object(start, 1)
		case start.Name.Local != "topology":
			return nil, fmt.Errorf("this is no topology of hwloc: it begins with element %q", start.Name.Local)
		}
	}
}

// object reads an object, whose start has been read.
func (p *hwlocParser) object(start xml.StartElement, depth int) (*hwlocObject, error) {
	if p.objects++; p.objects > maxHwlocObjects {
		return nil, fmt.Errorf("more than %s objects", text.Count(maxHwlocObjects))
	}
	o := &hwlocObject{osIndex: -1}
	for _, a := range start.Attr {
		switch a.Name.Local {
		case "type":
			o.kind = a.Value
		case "os_index":
			n, err := strconv.Atoi(a.Value)
			if err == nil && n >= 0 && n < profile.MaxProcessors {
				o.osIndex = n
			}
		case "depth":
			if o.kind == "Cache" { // of hwloc 1, which has one type for all caches
				o.kind = "L" + a.Value
			}
		}
	}
	return o, p.content(o, depth)
}

// content reads what is in an object, up to its end.
func (p *hwlocParser) content(o *hwlocObject, depth int) error {
	for other := 0; ; { // other elements, such as info, that are open
		token, err := p.decoder.Token()
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth+other >= maxHwlocDepth {
				return fmt.Errorf("elements are nested more than %d deep", maxHwlocDepth)
			}
			if token.Name.Local != "object" || other > 0 {
				other++
				continue
			}
			inner, err := p.object(token, depth+1)
			if err != nil {
				return err
			}
			o.inner = append(o.inner, inner)
		case xml.EndElement:
			if other == 0 {
				return nil
			}
			other--
		}
	}
}

// hwlocLevels are the types of objects that are levels. Version 1 has a NUMANode with
// cores in it; in version 2 it is beside the cores, in a Group if they are no package.
var hwlocLevels = map[string]string{
	"Package": "socket", "Socket": "socket", "NUMANode": "numa",
	"L3Cache": "l3", "L3": "l3", "L2Cache": "l2", "L2": "l2",
}

// tree returns the tree of the machine.
func (p *hwlocParser) tree(root *hwlocObject) (*Tree, error) {
	if root.kind != "Machine" && root.kind != "System" {
		return nil, fmt.Errorf("the outermost object is of type %q, not Machine", root.kind)
	}
	t := &Tree{root: &domain{}, allCores: true}
	if err := t.addObjects(t.root, root, 0); err != nil {
		return nil, err
	}
	if len(t.root.inner) == 0 {
		return nil, errors.New("the machine has neither cores nor processors")
	}
	slices.Reverse(t.levels) // they were found outermost first
	return t, nil
}

// addObjects adds the objects in an object to a domain. Levels from outside of t.levels
// on, which are outermost first, may be within this domain.
func (t *Tree) addObjects(d *domain, of *hwlocObject, outside int) error {
	for _, o := range of.inner {
		if o.kind == "Core" || o.kind == "PU" {
			var processors []int
			if err := o.processors(&processors); err != nil {
				return err
			}
			slices.Sort(processors)
			d.inner = append(d.inner, &domain{processors: profile.ProcessorList(processors)})
			continue
		}
		into, next := t.levelOf(o, outside)
		if into == nil {
			into = d
		}
		if err := t.addObjects(into, o, next); err != nil {
			return err
		}
		if into != d && len(into.inner) > 0 {
			d.inner = append(d.inner, into)
		}
	}
	return nil
}

// levelOf returns a domain for an object, and from which level on others may be within
// it. The domain is nil if the object is of no level, or if the file has this level
// outside elsewhere.
func (t *Tree) levelOf(o *hwlocObject, outside int) (*domain, int) {
	level := hwlocLevels[o.kind]
	if o.kind == "Group" && o.hasMemory() {
		level = "numa"
	}
	at := slices.Index(t.levels, level)
	switch {
	case level == "" || len(o.inner) == 0 || at >= 0 && at < outside:
		return nil, outside
	case at < 0:
		at = outside
		t.levels = slices.Insert(t.levels, at, level)
	}
	return &domain{level: level}, at + 1
}

// hasMemory reports whether there is a NUMA node of the object.
func (o *hwlocObject) hasMemory() bool {
	return slices.ContainsFunc(o.inner, func(m *hwlocObject) bool {
		return m.kind == "NUMANode" || m.kind == "MemCache" && m.hasMemory()
	})
}

// processors adds the numbers of the hardware threads in a core, or of a processor.
func (o *hwlocObject) processors(to *[]int) error {
	if o.kind == "PU" {
		if o.osIndex < 0 {
			return fmt.Errorf("a processor has no os_index from 0 to %d", profile.MaxProcessors-1)
		}
		*to = append(*to, o.osIndex)
	}
	for _, inner := range o.inner {
		if err := inner.processors(to); err != nil {
			return err
		}
	}
	return nil
}

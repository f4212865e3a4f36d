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

// ReadHwloc reads the topology of one node from the XML of hwloc 1 or 2, such as lstopo --of xml
// writes. Slots are cores, with the operating system's numbers of their processors. Levels are
// packages, NUMA nodes that contain cores, L3 and L2 caches; other objects are left out. Errors
// name the file and the line.
func ReadHwloc(r io.Reader, name string) (*Tree, error) {
	in := &hwlocReader{Decoder: xml.NewDecoder(io.LimitReader(r, MaxTopologyFile))}
	t, err := in.tree()
	if err != nil {
		line, column := in.InputPos()
		return nil, fmt.Errorf("%s:%d:%d: %w", text.Line(name), line, column, err)
	}
	return t, nil
}

// hwlocFile is the outermost element of a file, and hwlocObject an object in it.
type (
	hwlocFile struct {
		XMLName xml.Name
		Objects []*hwlocObject `xml:"object"`
	}
	hwlocObject struct {
		Type    string         `xml:"type,attr"`
		Depth   string         `xml:"depth,attr"`
		OSIndex string         `xml:"os_index,attr"`
		Inner   []*hwlocObject `xml:"object"`
	}
)

// hwlocReader limits how deep elements are nested and how many objects there are.
type hwlocReader struct {
	*xml.Decoder
	depth, objects int
}

// Token implements xml.TokenReader.
func (r *hwlocReader) Token() (xml.Token, error) {
	token, err := r.Decoder.Token()
	switch element := token.(type) {
	case xml.StartElement:
		if r.depth++; r.depth > maxHwlocDepth {
			return nil, fmt.Errorf("elements are nested more than %d deep", maxHwlocDepth)
		}
		if element.Name.Local == "object" {
			r.objects++
		}
		if r.objects > maxHwlocObjects {
			return nil, fmt.Errorf("more than %s objects", text.Count(maxHwlocObjects))
		}
	case xml.EndElement:
		r.depth--
	}
	return token, err
}

// hwlocLevels are the types of objects that are levels. In version 1, a NUMANode contains its
// cores. In version 2 it is beside them, in a Group if the cores are not a whole package.
var hwlocLevels = map[string]string{
	"Package": "socket", "Socket": "socket", "NUMANode": "numa",
	"L3Cache": "l3", "L3": "l3", "L2Cache": "l2", "L2": "l2",
}

// tree returns the tree of the first object, which is the machine.
func (r *hwlocReader) tree() (*Tree, error) {
	var file hwlocFile
	err := xml.NewTokenDecoder(r).Decode(&file)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case err == nil && file.XMLName.Local != "topology":
		return nil, fmt.Errorf("this is not a topology of hwloc: it begins with element %q", file.XMLName.Local)
	case len(file.Objects) == 0:
		return nil, errors.New("this is not a topology of hwloc: it has no object")
	}
	root := file.Objects[0]
	if root.Type != "Machine" && root.Type != "System" {
		return nil, fmt.Errorf("the outermost object is of type %q, not Machine", root.Type)
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

// addObjects adds the objects inside an object to a domain. t.levels is ordered outermost first;
// objects of the levels from index outside on may be inside this domain.
func (t *Tree) addObjects(d *domain, of *hwlocObject, outside int) error {
	for _, o := range of.Inner {
		if o.Type == "Core" || o.Type == "PU" {
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

// levelOf returns a domain for an object, and the index of the first level that may be inside it.
// The domain is nil if the object is not of a level, or if elsewhere in the file its level is
// outside the present one.
func (t *Tree) levelOf(o *hwlocObject, outside int) (*domain, int) {
	kind := o.Type
	if kind == "Cache" { // of hwloc 1, which has one type for all caches
		kind = "L" + o.Depth
	}
	level := hwlocLevels[kind]
	if o.Type == "Group" && o.hasMemory() {
		level = "numa"
	}
	at := slices.Index(t.levels, level)
	switch {
	case level == "" || len(o.Inner) == 0 || at >= 0 && at < outside:
		return nil, outside
	case at < 0:
		at = outside
		t.levels = slices.Insert(t.levels, at, level)
	}
	return &domain{level: level}, at + 1
}

// hasMemory reports whether the object has a NUMA node of its own.
func (o *hwlocObject) hasMemory() bool {
	return slices.ContainsFunc(o.Inner, func(m *hwlocObject) bool {
		return m.Type == "NUMANode" || m.Type == "MemCache" && m.hasMemory()
	})
}

// processors adds the numbers of the hardware threads in a core, or of a processor.
func (o *hwlocObject) processors(to *[]int) error {
	if o.Type == "PU" {
		n, err := strconv.Atoi(o.OSIndex)
		if err != nil || n < 0 || n >= profile.MaxProcessors {
			return fmt.Errorf("a processor has no os_index from 0 to %d", profile.MaxProcessors-1)
		}
		*to = append(*to, n)
	}
	for _, inner := range o.Inner {
		if err := inner.processors(to); err != nil {
			return err
		}
	}
	return nil
}

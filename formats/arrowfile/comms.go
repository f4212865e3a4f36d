package arrowfile

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
)

// comms are the communicators of a table. It is not changed after it was read.
type comms struct {
	all    []comm
	byRank map[key][]int32 // indices of the communicators with few members
	wide   []int32         // indices of the others
}

// comm is a row of comms.arrow.
type comm struct {
	profile.Comm
	run, label, parent string
	members, remote    group32
	edges              map[int32][]int32 // world ranks, by sender
}

// group32 is a group with the index of each member.
type group32 struct {
	profile.Group
	indices map[int32]int32 // nil if there is no list
}

// wideComm is the number of members from which on a communicator is not in byRank.
const wideComm = 4096

func groupOf(ranks []int32) group32 {
	g := group32{Group: profile.Group{N: len(ranks), Stride: 1}}
	if len(ranks) == 0 {
		return g
	}
	g.Base = int(ranks[0])
	if len(ranks) > 1 {
		g.Stride = int(ranks[1]) - g.Base
	}
	even := g.Base >= 0
	for i, rank := range ranks {
		even = even && int(rank) == g.At(i)
	}
	if even && g.Stride != 0 {
		return g
	}
	g.Group, g.indices = profile.Group{N: len(ranks), List: ranks}, make(map[int32]int32, len(ranks))
	for i, rank := range ranks {
		if _, known := g.indices[rank]; !known {
			g.indices[rank] = int32(i)
		}
	}
	return g
}

// index returns the index of a world rank.
func (g *group32) index(rank int32) (int32, bool) {
	if g.indices != nil {
		i, ok := g.indices[rank]
		return i, ok
	}
	i := (int(rank) - g.Base) / g.Stride
	return int32(i), rank >= 0 && i >= 0 && i < g.N && g.At(i) == int(rank)
}

var lastComms struct {
	sync.Mutex
	key string
	*comms
}

// openComms reads the communicators of some files; nil if there are no files. The
// communicators stay in memory, because the next file is often a part of the same run.
func openComms(paths []string) (*comms, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	lastComms.Lock()
	defer lastComms.Unlock()
	var name strings.Builder
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			name.WriteString(path + "\x00" + info.ModTime().String() + "\x00")
		}
	}
	if lastComms.comms != nil && lastComms.key == name.String() {
		return lastComms.comms, nil
	}
	all := &comms{byRank: map[key][]int32{}}
	for _, path := range paths {
		if err := all.read(path); err != nil {
			return nil, err
		}
	}
	lastComms.key, lastComms.comms = name.String(), all
	return all, nil
}

func (x *comms) read(path string) error {
	texts := map[string]*texts{}
	absent := absentOf(table.CommColumns)
	return eachBatch(path, func(batch arrow.Record) (err error) {
		defer recovered(&err)
		c := &columns{Record: batch, absent: absent, texts: texts}
		row := decodeComms(c)
		for i := range int(batch.NumRows()) {
			if c.err != nil {
				return c.err
			}
			x.add(row(i))
		}
		return c.err
	})
}

func decodeComms(c *columns) func(int) comm {
	run, label, id, name, constructor, parent := c.word("run"), c.word("comm"), c.word("id"), c.word("name"), c.word("constructor"), c.word("parent")
	inter, freed, folded := c.count("inter"), c.count("freed"), c.integers("folded", 0, math.MaxUint64)
	members, remote, from, to := c.lists("members"), c.lists("remote"), c.lists("edge_from"), c.lists("edge_to")
	return func(i int) comm {
		out := comm{run: run(i), label: label(i), parent: parent(i), members: groupOf(members(i)), remote: groupOf(remote(i))}
		out.Comm = profile.Comm{ID: id(i), Name: name(i), Constructor: constructor(i), Inter: inter(i) != 0, Freed: freed(i) != 0}
		out.Folded, _ = folded(i)
		if out.Label() != out.label {
			named := nameComm(out.label)
			out.ID, out.Name, out.Constructor = cmp.Or(out.ID, named.ID), named.Name, named.Constructor
		}
		receivers := to(i)
		for k, sender := range from(i) {
			if out.edges == nil {
				out.edges = map[int32][]int32{}
			}
			if k < len(receivers) {
				out.edges[sender] = append(out.edges[sender], receivers[k])
			}
		}
		return out
	}
}

// nameComm returns a communicator with this label.
func nameComm(label string) profile.Comm {
	i := strings.LastIndexByte(label, '#')
	if i < 0 {
		return profile.Comm{Name: label, Parent: -1}
	}
	return profile.Comm{Name: label[:i], Constructor: label[:i], ID: label[i+1:], Parent: -1}
}

func (x *comms) add(c comm) {
	n := int32(len(x.all))
	x.all = append(x.all, c)
	if c.members.Len() >= wideComm {
		x.wide = append(x.wide, n)
		return
	}
	for _, g := range []*group32{&c.members, &c.remote} {
		for i := range g.Len() {
			if rank := g.At(i); rank >= 0 {
				k := key{c.run, int32(rank)}
				x.byRank[k] = append(x.byRank[k], n)
			}
		}
	}
}

// ofProcess returns the communicators of a process.
func (x *comms) ofProcess(k key) []*comm {
	if x == nil {
		return nil
	}
	var out []*comm
	for _, i := range x.wide {
		c := &x.all[i]
		_, member := c.members.index(k.rank)
		_, remote := c.remote.index(k.rank)
		if c.run == k.run && (member || c.Inter && remote) {
			out = append(out, c)
		}
	}
	for _, i := range x.byRank[k] {
		out = append(out, &x.all[i])
	}
	predefined := func(c *comm) int { return min(len(c.Constructor), 1) }
	slices.SortStableFunc(out, func(a, b *comm) int { return predefined(a) - predefined(b) })
	return out
}

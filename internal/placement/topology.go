// Package placement finds which rank of a job should run where, so that ranks that
// exchange much are near each other.
//
// A Topology says where ranks can run and how far these slots are from each other, a
// Traffic what ranks exchange, an Order which rank runs in which slot. Evaluate returns
// what an order costs; Best searches for an order that costs less.
package placement

import (
	"fmt"
	"math"
)

// A Topology is a hierarchy of domains with slots, each for one rank. Slots are numbered
// so that those of a domain, of any level, have consecutive numbers.
type Topology struct {
	Slots  []Slot
	Levels []Level // innermost first; the last has one domain, which holds all slots
}

// A Slot is a place for one rank.
type Slot struct {
	Host       string // name of the node; empty if the topology names none
	Processors string // hardware threads as "0-3,8", see profile.ParseProcessors; empty if not known
	Cores      string // numbers of its cores on the node, as hwloc counts them; empty if not known
}

// A Level is a kind of domain.
type Level struct {
	Name     string  // core, l2, l3, numa, socket, node, switch, group or system
	Distance int64   // of two slots that are in one domain of this level, but in none of a lower level
	Domain   []int32 // by slot: the number of its domain, ascending from 0
}

// NodeLevel is the name of the level whose domains are nodes.
const NodeLevel = "node"

// Nodes returns the index of the level whose domains are nodes; -1 if there is none.
func (t *Topology) Nodes() int {
	for i, l := range t.Levels {
		if l.Name == NodeLevel {
			return i
		}
	}
	return -1
}

// Between returns the index of the lowest level at which two different slots are in one
// domain.
func (t *Topology) Between(a, b int32) int {
	for i := range t.Levels {
		if t.Levels[i].Domain[a] == t.Levels[i].Domain[b] {
			return i
		}
	}
	return len(t.Levels) - 1
}

// maxDistance keeps sums of bytes × distance within 64 bits for up to 8 PB.
const maxDistance = 1000

// check reports the first thing that is wrong with the topology.
func (t *Topology) check() error {
	if len(t.Slots) == 0 || len(t.Levels) == 0 || len(t.Slots) > math.MaxInt32 {
		return fmt.Errorf("the topology has %d slots and %d levels", len(t.Slots), len(t.Levels))
	}
	var before int64
	for i, l := range t.Levels {
		if l.Distance < before || l.Distance < 1 || l.Distance > maxDistance {
			return fmt.Errorf("the distance of level %s is %d: distances are 1 to %d, and do not fall from the inner to the outer levels", l.Name, l.Distance, maxDistance)
		}
		before = l.Distance
		if len(l.Domain) != len(t.Slots) {
			return fmt.Errorf("level %s has domains for %d of %d slots", l.Name, len(l.Domain), len(t.Slots))
		}
		for s, d := range l.Domain {
			first := s == 0 && d == 0
			next := s > 0 && (d == l.Domain[s-1] || d == l.Domain[s-1]+1)
			inner := i == 0 || s == 0 || d == l.Domain[s-1] || t.Levels[i-1].Domain[s] != t.Levels[i-1].Domain[s-1]
			if !(first || next) || !inner {
				return fmt.Errorf("level %s: slot %d is in domain %d, which is not below one domain of the next level", l.Name, s, d)
			}
		}
	}
	if last := t.Levels[len(t.Levels)-1]; last.Domain[len(t.Slots)-1] != 0 {
		return fmt.Errorf("level %s, the outermost, has several domains", last.Name)
	}
	return nil
}

// maxSlots bounds the memory of a topology that a user describes.
const maxSlots = 1 << 21

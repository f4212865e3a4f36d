package matrix

import "github.com/mpitrace/mpitrace/profile"

// TrafficClass defines which calls a matrix of a job counts. The classes correspond to
// the lines of .prof files: External to E, Internal to I, OneSided to S and R,
// and Collective to C.
type TrafficClass int

const (
	All        TrafficClass = iota // the sum of the others; see ByClass for Internal
	External                       // point-to-point, sent by the program
	Internal                       // sent by the MPI library on its own behalf
	OneSided                       // remote writes and reads, as data moved
	Collective                     // logical volume of collectives
	NumClasses

	// Direct is External and OneSided added up: what the program sent without
	// collectives. ByClass does not hold it; ByClass.Direct computes it.
	Direct = NumClasses
)

var classNames = [...]string{"all", "external", "internal", "osc", "coll", "direct"}

// String returns the name of the class, as used in file names.
func (c TrafficClass) String() string { return classNames[c] }

// classOf returns the class, other than All, that counts flows of a kind.
func classOf(k profile.Kind) TrafficClass {
	switch k {
	case profile.External:
		return External
	case profile.Internal:
		return Internal
	case profile.RemoteRead, profile.RemoteWrite:
		return OneSided
	}
	return Collective
}

// ByClass holds the matrices of a job, indexed by Class. Two of them may share
// their entries, so nothing may be added to them. All is the sum of the others,
// except where Builder.InternalApart reports that it excludes Internal.
type ByClass [NumClasses]Matrix

// DropSelf removes what ranks sent to themselves from all matrices.
func (ms *ByClass) DropSelf() {
	for c := range ms {
		ms[c].DropSelf()
	}
}

// Direct returns the matrix of class Direct. It may be the one of class External
// itself.
func (ms *ByClass) Direct() *Matrix {
	if ms[OneSided].Empty() {
		return &ms[External] // saves a copy
	}
	sum := new(Matrix)
	for _, c := range []TrafficClass{External, OneSided} {
		sum.Merge(&ms[c])
	}
	return sum
}

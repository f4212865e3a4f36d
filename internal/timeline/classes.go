package timeline

import (
	"image/color"

	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/profile"
)

// The classes of a picture, in the order in which they are stacked.
const (
	waiting = iota
	messaging
	collective
	oneSided
	fileIO
	settingUp
	otherCalls
	numClasses
)

// classes have the colours of Okabe and Ito, which colour-blind readers can
// tell apart, and greys. Sky blue and yellow are left out: they are too similar
// to pale blue and to the background.
var classes = [numClasses]plot.Class{
	waiting:    {Name: "wait, test, probe", Color: color.RGBA{0xd5, 0x5e, 0x00, 255}},
	messaging:  {Name: "send, receive", Color: color.RGBA{0x00, 0x72, 0xb2, 255}},
	collective: {Name: "collective", Color: color.RGBA{0x00, 0x9e, 0x73, 255}},
	oneSided:   {Name: "one-sided", Color: color.RGBA{0xcc, 0x79, 0xa7, 255}},
	fileIO:     {Name: "file I/O", Color: color.RGBA{0xe6, 0x9f, 0x00, 255}},
	settingUp:  {Name: "init, finalize", Color: color.RGBA{0x8c, 0x8c, 0x8c, 255}},
	otherCalls: {Name: "communicators, windows, other", Color: color.RGBA{0x40, 0x40, 0x40, 255}},
}

var outside = plot.Class{Name: "outside MPI", Color: color.RGBA{0xe9, 0xec, 0xf0, 255}}

// Activities returns what a rank does at a time: first time outside MPI, then the
// classes of its calls in the order in which they are stacked.
func Activities() []plot.Class { return append([]plot.Class{outside}, classes[:]...) }

// ActivityOf returns the index in Activities of what a rank does in a call.
func ActivityOf(kind *profile.EventKind) int { return classOf(kind) + 1 }

// classOf returns the class that a call's time belongs to.
func classOf(kind *profile.EventKind) int {
	switch {
	case profile.SetsUp(kind.Call):
		return settingUp
	case kind.Class == profile.P2P && profile.TraitsOf(kind.Call).Any(waits):
		return waiting
	case kind.Class == profile.P2P:
		return messaging
	case kind.Class.Collective():
		return collective
	case kind.Class == profile.OneSided || kind.Class == profile.Sync:
		return oneSided
	case kind.Class == profile.IO:
		return fileIO
	}
	return otherCalls
}

// waits are the traits of calls that wait for others or test what they have done, and
// move no data themselves.
const waits = profile.TraitCompletes | profile.TraitTests | profile.TraitProbes

package timeline

import (
	"image/color"

	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/profile"
)

// The classes of a picture, in the order in which they are stacked: the activities in
// MPI.
const (
	waiting    = int(profile.InWaits - 1)
	messaging  = int(profile.InMessages - 1)
	collective = int(profile.InCollectives - 1)
	oneSided   = int(profile.InOneSided - 1)
	fileIO     = int(profile.InFileIO - 1)
	settingUp  = int(profile.InSetUp - 1)
	otherCalls = int(profile.InOtherCalls - 1)
	numClasses = int(profile.NumActivities - 1)
)

// colors are those of Okabe and Ito, which colour-blind readers can tell apart, and
// greys. Sky blue and yellow are left out: they are too similar to pale blue and to the
// background.
var colors = [profile.NumActivities]color.RGBA{
	profile.Outside:       {0xe9, 0xec, 0xf0, 255},
	profile.InWaits:       {0xd5, 0x5e, 0x00, 255},
	profile.InMessages:    {0x00, 0x72, 0xb2, 255},
	profile.InCollectives: {0x00, 0x9e, 0x73, 255},
	profile.InOneSided:    {0xcc, 0x79, 0xa7, 255},
	profile.InFileIO:      {0xe6, 0x9f, 0x00, 255},
	profile.InSetUp:       {0x8c, 0x8c, 0x8c, 255},
	profile.InOtherCalls:  {0x40, 0x40, 0x40, 255},
}

// Activities returns the activities of profile with their colours, in order.
func Activities() []plot.LegendEntry {
	out := make([]plot.LegendEntry, profile.NumActivities)
	for a := range out {
		out[a] = plot.LegendEntry{Name: profile.Activity(a).String(), Color: colors[a]}
	}
	return out
}

// ActivityOf returns what a rank does in a call.
func ActivityOf(kind *profile.EventKind) profile.Activity {
	return profile.ActivityOf(kind.Call, kind.Class)
}

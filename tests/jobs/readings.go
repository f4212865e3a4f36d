package jobs

import (
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// Readings returns Full with readings of performance variables. Rank r began
// r ms after rank 0. Its readings, with times in ms after the start of rank 0,
// are:
//
//	queue    level of two communicators: at 1000 + r, when MPI_Init returned, 0; at
//	         2000, when the slice run ended, 10r of the world; 3 of Reversed, freed
//	         at 2500
//	bytes    counter of two elements: 2^60 + r and 7 at 4000, at the end
//	balance  signed: -r at 4000
//	share    percentage: 0.25 at 4000
//	pml      text: ob1 at 4000
func Readings(run string) []*profile.Profile {
	ps := Full(run)
	first := ps[0].Start
	for r, p := range ps {
		p.Start += int64(r) * 1e6
		p.Pvars = []profile.Pvar{
			{Name: "queue", Description: "messages that wait", Class: profile.PvarLevel, Type: profile.PvarUnsigned, Bound: profile.PvarCommunicator, ReadOnly: true},
			{Name: "bytes", Class: profile.PvarCounter, Type: profile.PvarUnsigned},
			{Name: "balance", Class: profile.PvarLevel, Type: profile.PvarSigned},
			{Name: "share", Class: profile.PvarPercentage, Type: profile.PvarDouble},
			{Name: "pml", Class: profile.PvarGeneric, Type: profile.PvarText},
		}
		p.PvarHandles = []profile.PvarHandle{{Pvar: 0, Comm: World, Count: 1}, {Pvar: 1, Comm: -1, Count: 2}, {Pvar: 2, Comm: -1, Count: 1},
			{Pvar: 3, Comm: -1, Count: 1}, {Pvar: 4, Comm: -1, Count: 4}, {Pvar: 0, Comm: Reversed, Count: 1}}
		read := func(handle int, ms int64, slice uint32, moment profile.Moment, values ...uint64) {
			p.Readings = append(p.Readings, profile.Reading{Handle: handle, Slice: slice, At: first + ms*1e6, Moment: moment, Values: values})
		}
		n := uint64(r)
		read(0, 1000+int64(r), 0, profile.ReadAtInit, 0)
		read(0, 2000, 0, profile.ReadAtSlice, 10*n)
		read(5, 2500, 1, profile.ReadAtFree, 3)
		read(1, 4000, 1, profile.ReadAtFinalize, 1<<60+n, 7)
		read(2, 4000, 1, profile.ReadAtFinalize, -n)
		read(3, 4000, 1, profile.ReadAtFinalize, math.Float64bits(0.25))
		read(4, 4000, 1, profile.ReadAtFinalize, 'o', 'b', '1', 0)
	}
	return ps
}

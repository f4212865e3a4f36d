package jobs

import (
	"math"

	"github.com/mpitrace/mpitrace/profile"
)

// Indices of the performance variables in Watched.
const (
	aQueue = iota
	aSent
	aWait
	aMost
	aLeast
	aName
	aShare
	aMode
	aGeneric
)

// readAll adds the readings of rank u-1 to p.
func readAll(p *profile.Profile, u uint64) {
	double, minus := math.Float64bits, func(v uint64) uint64 { return -v }
	bind := func(pvar int, comm int32, count int) int {
		p.PvarHandles = append(p.PvarHandles, profile.PvarHandle{Pvar: pvar, Comm: comm, Count: count})
		return len(p.PvarHandles) - 1
	}
	read := func(handle int, after int64, slice uint32, moment profile.Moment, values ...uint64) {
		p.Readings = append(p.Readings, profile.Reading{Handle: handle, Slice: slice, At: Start + after*Second, Moment: moment, Values: values})
	}
	queue, sent := bind(aQueue, 0, 2), bind(aSent, 0, 1)
	wait, most, least := bind(aWait, -1, 2), bind(aMost, -1, 1), bind(aLeast, -1, 1)
	name, share := bind(aName, -1, 8), bind(aShare, -1, 1)
	mode, generic := bind(aMode, -1, 1), bind(aGeneric, -1, 1)
	read(queue, 0, 0, profile.ReadAtInit, 0, 0)
	read(sent, 0, 0, profile.ReadAtInit, 0)
	for i, v := range []uint64{5, 7} {
		read(bind(aQueue, 1, 1), int64(i), uint32(i), profile.ReadAtFree, v)
	}
	if u <= 2 {
		read(bind(aSent, 1, 1), 1, 0, profile.ReadAtFree, 3)
		read(bind(aSent, 1, 1), 1, 1, profile.ReadAtFree, 4)
	}
	read(queue, 1, 0, profile.ReadAtSlice, 4*u, 6*u)
	read(sent, 1, 0, profile.ReadAtSlice, 100*u)
	read(most, 1, 0, profile.ReadAtSlice, u)
	read(least, 1, 0, profile.ReadAtSlice, minus(u))
	read(mode, 1, 0, profile.ReadAtSlice, u-1)
	read(queue, 2, 1, profile.ReadAtFinalize, 0, 0)
	read(sent, 2, 1, profile.ReadAtFinalize, 100*u+50)
	read(wait, 2, 1, profile.ReadAtFinalize, double(0.5*float64(u)), double(0.25))
	read(most, 2, 1, profile.ReadAtFinalize, 10*u)
	read(least, 2, 1, profile.ReadAtFinalize, minus(10*u))
	read(name, 2, 1, profile.ReadAtFinalize, 'o', 'b', '1', 0, 'x', 0, 0, 0)
	read(share, 2, 1, profile.ReadAtFinalize, double(0.5))
	read(generic, 2, 1, profile.ReadAtFinalize, 7)
}

// Watched returns Fixture with readings of the MPI's performance variables. The
// job has the slices run, from 0 to 1 s, and solve, which ends after 2 s. In
// the table, u is r+1.
//
//	queue    level of a communicator: of MPI_COMM_WORLD two elements, both 0 at Init, 4u
//	         and 6u at 1 s, both 0 at 2 s; of two communicators that share a record, 5 and 7, each read once
//	sent     counter of a window: 0 at Init, 100u at 1 s, 100u + 50 at 2 s; ranks 0 and 1
//	         also had two windows on the second communicator's group, with 3 and 4
//	wait     timer of two elements, doubles: 0.5u and 0.25 at 2 s
//	most     high-watermark: u at 1 s, 10u at 2 s
//	least    low-watermark, signed: -u at 1 s, -10u at 2 s
//	name     text, the same on all ranks
//	share    percentage: 0.5, read once
//	mode     state: r at 1 s
//	generic  7 on all ranks
func Watched() []*profile.Profile {
	ps := Fixture()
	for r, p := range ps {
		p.Slices = []profile.Slice{{Index: 0, Name: "run", Start: Start}, {Index: 1, Name: "solve", Start: Start + Second}}
		p.Settings = map[string]string{"watch-unexpected": "10", "pvar": "*"}
		p.Pvars = []profile.Pvar{
			aQueue:   {Name: "queue", Description: "messages that wait", Class: profile.PvarLevel, Type: profile.PvarUnsigned, Bound: profile.PvarCommunicator},
			aSent:    {Name: "sent", Class: profile.PvarCounter, Type: profile.PvarUnsigned, Bound: profile.PvarWindow},
			aWait:    {Name: "wait", Class: profile.PvarTimer, Type: profile.PvarDouble},
			aMost:    {Name: "most", Class: profile.PvarHighWatermark, Type: profile.PvarUnsigned},
			aLeast:   {Name: "least", Class: profile.PvarLowWatermark, Type: profile.PvarSigned},
			aName:    {Name: "name", Class: profile.PvarGeneric, Type: profile.PvarText},
			aShare:   {Name: "share", Class: profile.PvarPercentage, Type: profile.PvarDouble},
			aMode:    {Name: "mode", Class: profile.PvarState, Type: profile.PvarSigned},
			aGeneric: {Name: "generic", Class: profile.PvarGeneric, Type: profile.PvarUnsigned},
		}
		readAll(p, uint64(r+1))
		lateIn(p)
	}
	return ps
}

// lateIn adds late receives to a rank r of Fixture. Of its 3 Recvs from rank
// r-1 at ring.c:40, r were late, each while 20 messages were queued; they are
// in two slices. At ring.c:50 each rank also posts 4 Irecvs from any source on
// the second communicator; those of rank 2 were all late, while 11, 12, 13 and
// 14 messages were queued.
func lateIn(p *profile.Profile) {
	r := p.Rank
	p.Symbols = HungSymbols
	p.Modules = HungRank(r).Modules
	for i := range p.Rows {
		if p.Rows[i].Call == "Recv" {
			p.Rows[i].Callsite = At(r, SiteRecv)
		}
	}
	p.Rows = append(p.Rows, profile.Row{Call: "Irecv", Class: profile.P2P, Comm: 1, Peer: profile.PeerAnySource, Callsite: At(r, SiteIrecv), Calls: 4})
	for i := range r {
		p.Late = append(p.Late, profile.Late{Call: "Recv", Comm: 0, Peer: int32(r - 1), Callsite: At(r, SiteRecv), Slice: uint32(min(i, 1)), Count: 1, Queued: 20})
	}
	if r == 2 {
		p.Late = append(p.Late, profile.Late{Call: "Irecv", Comm: 1, Peer: profile.PeerAnySource, Callsite: At(r, SiteIrecv), Count: 4, Queued: 11 + 12 + 13 + 14})
	}
}

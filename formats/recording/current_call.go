package recording

import (
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// addCurrentCalls adds the calls that had not returned. A finalized process has
// none: it ended normally, whatever call its recording shows.
func (f *file) addCurrentCalls(p *profile.Profile, index map[uint32]int32, scale float64) {
	if p.State == profile.Finalized {
		return
	}
	for _, o := range f.opens {
		p.Open = append(p.Open, f.openCall(o, index, scale))
	}
	if abort := f.header.Abort; abort.Call != 0 { // MPI_Abort in a thread without a record, which gets the next number
		p.Open = append(p.Open, f.openCall(currentCall{abort, uint32(len(f.threads))}, index, scale))
	}
}

func (f *file) openCall(o currentCall, index map[uint32]int32, scale float64) profile.OpenCall {
	call := profile.CallByID(o.Call)
	out := profile.OpenCall{Thread: int32(o.thread), Call: call.Name, Class: call.Class, Direction: directions[o.Direction].way,
		Comm: commIn(index, o.Comm), Peer: o.Peer, Source: profile.PeerNone, Callsite: o.Callsite, Slice: o.Slice}
	if out.Direction != profile.None && o.Bytes != layout.OpenBytesUnknown {
		out.Bytes, out.Sized = o.Bytes, true
	}
	traits := call.Traits
	if traits.All(profile.TraitSends | profile.TraitReceives) {
		out.Source = o.Source
	}
	switch {
	case traits.Any(profile.TraitCompletes | profile.TraitStarts):
		out.Requests = int(o.Count)
	case traits.Any(profile.TraitAborts):
		out.Code = int32(o.Count)
	}
	if o.Start != 0 {
		out.Start = f.unixTime(o.Start+o.Spent, scale)
	}
	return out
}

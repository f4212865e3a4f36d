package recording

import (
	"fmt"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// currentCall is the MPI call that a thread was in.
type currentCall struct {
	layout.Open
	thread uint32
}

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
	call := callOf(o.Call)
	class, _ := profile.ParseClass(call.Class)
	out := profile.OpenCall{Thread: int32(o.thread), Call: call.Name, Class: class, Direction: directions[o.Direction].way,
		Comm: -1, Peer: o.Peer, Source: profile.PeerNone, Callsite: o.Callsite, Slice: o.Slice}
	if c, ok := index[o.Comm]; ok && o.Comm != layout.CommNone {
		out.Comm = c
	}
	if out.Direction != profile.None && o.Bytes != layout.OpenBytesUnknown {
		out.Bytes, out.Sized = o.Bytes, true
	}
	traits := profile.Traits(call.Traits)
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

// rawCurrentCall is the inverse of openCall, for a clock whose ticks are Unix
// ns.
func rawCurrentCall(o *profile.OpenCall) (layout.Open, error) {
	call, ok := callNamed(o.Call)
	if !ok {
		return layout.Open{}, fmt.Errorf("a call of MPI_%s, which is no call", o.Call)
	}
	raw := layout.Open{Callsite: o.Callsite, Comm: layout.CommNone, Peer: o.Peer, Slice: o.Slice, Call: call.ID,
		Start: uint64(o.Start), Bytes: layout.OpenBytesUnknown, Source: o.Source, Count: uint32(o.Requests)}
	for code, d := range directions {
		if d.way == o.Direction && d.calls {
			raw.Direction = code
		}
	}
	if o.Comm >= 0 {
		raw.Comm = uint32(o.Comm)
	}
	if o.Sized {
		raw.Bytes = o.Bytes
	}
	if profile.Traits(call.Traits).Any(profile.TraitAborts) {
		raw.Count = uint32(o.Code)
	}
	return raw, nil
}

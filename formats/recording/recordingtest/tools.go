package recordingtest

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// addTools writes these records. It is the inverse of file.addTools.
func (l *log) addTools(p *profile.Profile) error {
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		value := p.Settings[name]
		l.add(layout.RecordSetting, layout.Setting{NameLength: uint32(len(name)), ValueLength: uint32(len(value))},
			[]byte(name), []byte(value))
	}
	for _, v := range p.Variables {
		origin := uint32(layout.VariableEnvironment)
		if v.Asked {
			origin = layout.VariableAsked
		}
		l.add(layout.RecordVariable, layout.Variable{Origin: origin, Scope: uint32(v.Scope), NameLength: uint32(len(v.Name)),
			ValueLength: uint32(len(v.Value)), WhyLength: uint32(len(v.Refused))}, []byte(v.Name), []byte(v.Value), []byte(v.Refused))
	}
	for i, v := range p.Pvars {
		l.add(layout.RecordPvar, layout.Pvar{Index: uint32(i), Class: uint32(v.Class), Type: uint32(v.Type),
			Binding: uint32(v.Bound), Flags: pvarFlags(v), NameLength: uint32(len(v.Name)),
			DescriptionLength: uint32(len(v.Description))}, []byte(v.Name), []byte(v.Description))
	}
	for i, h := range p.PvarHandles {
		comm, err := commOf(p, h.Comm)
		if err != nil {
			return fmt.Errorf("handle %d: %w", i, err)
		}
		l.add(layout.RecordHandle, layout.Handle{Index: uint32(i), Pvar: uint32(h.Pvar), Comm: comm, Count: uint32(h.Count)})
	}
	for _, r := range p.Readings {
		l.add(layout.RecordReading, layout.Reading{Handle: uint32(r.Handle), Slice: r.Slice, Ticks: uint64(r.At),
			Count: uint32(len(r.Values)), Moment: uint32(r.Moment)}, appended(nil, r.Values))
	}
	return nil
}

func pvarFlags(v profile.Pvar) (flags uint32) {
	for _, f := range []struct {
		set bool
		bit uint32
	}{{v.ReadOnly, layout.PvarReadOnly}, {v.Continuous, layout.PvarContinuous}, {v.Atomic, layout.PvarAtomic}} {
		if f.set {
			flags |= f.bit
		}
	}
	return flags
}

// addPlacement writes what readPlacement reads.
func (l *log) addPlacement(p *profile.Profile) error {
	if at := p.Placement; at != nil {
		processors, err := profile.ParseProcessors(at.Processors)
		if err != nil {
			return err
		}
		var mask []uint64
		for _, n := range processors {
			mask = append(mask, make([]uint64, max(n/64+1-len(mask), 0))...)
			mask[n/64] |= 1 << (n % 64)
		}
		l.add(layout.RecordPlacement, layout.Placement{Words: uint32(len(mask)), NodeProcessors: uint32(at.NodeProcessors),
			NodeCores: uint32(at.NodeCores), NodeSockets: uint32(at.NodeSockets), LimitGroup: at.LimitGroup,
			CPULimit: uint64(math.Round(1000 * at.CPULimit))}, appended(nil, mask))
	}
	for _, u := range p.Usage {
		raw := layout.Usage{Slice: u.Slice, Ticks: u.WallNs, UserNs: u.UserNs, SystemNs: u.SystemNs,
			Voluntary: u.Voluntary, Involuntary: u.Involuntary, RunDelay: u.RunDelayNs}
		if u.DelayKnown {
			raw.DelayKnown = 1
		}
		l.add(layout.RecordUsage, raw)
	}
	return nil
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
	raw.Direction = directions[way{o.Direction, true}]
	if o.Comm >= 0 {
		raw.Comm = uint32(o.Comm)
	}
	if o.Sized {
		raw.Bytes = o.Bytes
	}
	if call.Traits.Any(profile.TraitAborts) {
		raw.Count = uint32(o.Code)
	}
	return raw, nil
}

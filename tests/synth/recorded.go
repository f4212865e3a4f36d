package synth

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/profile"
)

// Recorded returns the profiles that the ranks of a traced job recorded besides their
// events: the sums over them.
func Recorded(job Traced) profile.Source { return recorded{job.Sources()} }

type recorded struct{ traces []profile.EventSource }

// Each implements profile.Source.
func (r recorded) Each(f func(*profile.Profile) error) error {
	j := New("traced", len(r.traces))
	for rank, src := range r.traces {
		b, t := j.begin(rank), src.Trace()
		b.Run, b.Host, b.Symbols = t.Run, t.Host, profile.Symbols{}
		b.Start, b.InitEnd, b.FinalizeStart, b.End = t.Start, t.InitEnd, t.FinalizeStart, t.End
		b.enterComm(j, World)
		if err := b.sums(src); err != nil {
			return err
		}
		if err := f(b.Profile); err != nil {
			return err
		}
	}
	return nil
}

// sums adds a row for each kind of event that is a call or a message.
func (b *rows) sums(src profile.EventSource) error {
	byKind := map[uint32]*profile.Row{}
	err := src.Each(func(e *profile.Events, kinds []profile.EventKind) error {
		for i, kind := range e.Kind {
			r := byKind[kind]
			if r == nil {
				r = b.rowOf(&kinds[kind])
				byKind[kind] = r
			}
			b.sum(r, &kinds[kind], uint64(e.Duration[i]), e.Bytes[i])
		}
		return nil
	})
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		if r := byKind[kind]; r.Calls > 0 || r.Messages > 0 { // not the completion of a send
			b.Rows = append(b.Rows, *r)
		}
	}
	return err
}

// rowOf returns an empty row for the events of a kind.
func (b *rows) rowOf(k *profile.EventKind) *profile.Row {
	r := &profile.Row{Call: k.Call, Class: k.Class, Direction: k.Direction, Comm: k.Comm, Peer: k.Peer}
	switch {
	case k.Class.Collective():
		r.Spread = profile.ToOthers
	case k.Direction != profile.None:
		r.Spread = profile.ToPeer
	}
	var name string
	var line int
	if n, _ := fmt.Sscanf(k.Callsite, "%s app.c:%d", &name, &line); n == 2 {
		r.Callsite = siteAt(line)
		b.Symbols[b.Place(r.Callsite)] = profile.Symbol{Function: name, Source: "app.c", Line: line}
	}
	return r
}

// sum adds an event to a row.
func (b *rows) sum(r *profile.Row, k *profile.EventKind, ns, bytes uint64) {
	if k.Action == profile.Called {
		r.Calls++
		r.TimeNs += ns
		r.MaxNs = max(r.MaxNs, ns)
		if r.Calls == 1 || ns < r.MinNs {
			r.MinNs = ns
		}
	}
	if k.Direction == profile.None {
		return
	}
	messages := uint64(1)
	if r.Spread == profile.ToOthers {
		messages = uint64(b.Size - 1)
	}
	r.SizeClass = sizeClass(bytes)
	r.Messages += messages
	r.Bytes += messages * bytes
}

package recording

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/calls"
	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

var byName = func() map[string]*calls.Call {
	m := map[string]*calls.Call{}
	for i := range calls.Table {
		m[calls.Table[i].Name] = &calls.Table[i]
	}
	return m
}()

// callNamed returns the call with this name. It is the inverse of callOf.
func callNamed(name string) (*calls.Call, bool) {
	if number, unknown := strings.CutPrefix(name, "call-"); unknown {
		id, err := strconv.ParseUint(number, 10, 16)
		return callOf(uint16(id)), err == nil
	}
	c, ok := byName[name]
	return c, ok
}

// starter returns a call that starts persistent requests. Its rows with
// DirPosted count posted receives.
func starter() *calls.Call {
	i := slices.IndexFunc(calls.Table, func(c calls.Call) bool { return profile.Traits(c.Traits).Any(profile.TraitStarts) })
	return &calls.Table[i]
}

// table holds the rows of a thread, and their samples if times are sampled.
type table struct {
	rows    []layout.Row
	samples []layout.Sample
}

// tablesOf returns the table of each thread. Abnormal operations and late
// receives go to the first table, since their threads are not known.
func tablesOf(p *profile.Profile) ([]table, error) {
	tables := make([]table, p.Threads)
	if p.Threads == 1 {
		tables[0].rows = make([]layout.Row, 0, len(p.Rows)+len(p.Abnormal))
	}
	seen := receives{unfollowed: p.Unfollowed}
	enter := func(thread int32, call string, raw layout.Row, sample layout.Sample) error {
		if thread < 0 || int(thread) >= len(tables) {
			return fmt.Errorf("a row of thread %d, and %d threads", thread, len(tables))
		}
		seen.add(call, profile.TraitsOf(call), raw)
		tables[thread].rows = append(tables[thread].rows, raw)
		if p.Timing == profile.TimingSampled {
			tables[thread].samples = append(tables[thread].samples, sample)
		}
		return nil
	}
	for i := range p.Rows {
		raw, sample, err := rawRow(p, &p.Rows[i])
		if err == nil {
			err = enter(p.Rows[i].Thread, p.Rows[i].Call, raw, sample)
		}
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	for i := range p.Late {
		raw, err := rawLate(p, &p.Late[i])
		if err == nil {
			err = enter(0, p.Late[i].Call, raw, layout.Sample{})
		}
		if err != nil {
			return nil, fmt.Errorf("late receive %d: %w", i, err)
		}
	}
	unfinished := uint64(0)
	for i := range p.Abnormal {
		a := &p.Abnormal[i]
		if a.Kind == profile.UnfinishedReceive && a.Call == "" {
			unfinished += a.Count // the reader computes these itself
			continue
		}
		raw, err := rawAbnormal(p, a)
		if err == nil {
			err = enter(0, a.Call, raw, layout.Sample{})
		}
		if err != nil {
			return nil, fmt.Errorf("abnormal operation %d: %w", i, err)
		}
	}
	if ended := seen.ended + p.Losses.Requests + unfinished; unfinished > 0 && ended > seen.posted {
		start := starter()
		raw := layout.Row{Comm: layout.CommNone, Peer: layout.PeerNone, Call: start.ID, Direction: layout.DirPosted, Count: ended - seen.posted}
		return tables, enter(0, start.Name, raw, layout.Sample{})
	}
	return tables, nil
}

// commOf returns the index by which rows refer to a communicator.
func commOf(p *profile.Profile, comm int32) (uint32, error) {
	switch {
	case comm < 0:
		return layout.CommNone, nil
	case int(comm) >= len(p.Comms):
		return 0, fmt.Errorf("communicator %d of %d", comm, len(p.Comms))
	}
	return uint32(comm), nil
}

// rawRow is the inverse of addRow. For a collective, a recording has the bytes
// of one message, not those of all messages.
func rawRow(p *profile.Profile, r *profile.Row) (raw layout.Row, sample layout.Sample, err error) {
	call, ok := callNamed(r.Call)
	if !ok {
		return raw, sample, fmt.Errorf("MPI_%s is no call", r.Call)
	}
	comm, err := commOf(p, r.Comm)
	if err != nil {
		return raw, sample, err
	}
	raw = layout.Row{Callsite: r.Callsite, Comm: comm, Peer: r.Peer, Slice: r.Slice, Call: call.ID,
		SizeClass: r.SizeClass, Count: r.Calls, Time: r.TimeNs, Min: r.MinNs, Max: r.MaxNs}
	if raw.Direction, ok = rawDirections[way{r.Direction, r.Calls > 0}]; !ok {
		return raw, sample, fmt.Errorf("MPI_%s: no calls and direction %v: no recording holds it", r.Call, r.Direction)
	}
	if r.Direction != profile.None {
		_, fan, total := spreadOf(p, r, call)
		if r.Calls == 0 {
			raw.Count = max(r.Messages/max(fan, 1), 1) // without messages, the count is not known
		}
		if raw.Bytes = r.Bytes; !total {
			raw.Bytes /= max(fan, 1)
		}
	}
	if sample, ok = rawTime(p.Timing, r, &raw); !ok {
		return raw, sample, fmt.Errorf("MPI_%s: %d calls of %d ns, with an error of %d ns and timing %v: no recording holds it",
			r.Call, r.Calls, r.TimeNs, r.TimeErrorNs, p.Timing)
	}
	return raw, sample, checkRow(p, r, call, raw)
}

// checkRow returns an error unless reading raw gives the row back.
func checkRow(p *profile.Profile, r *profile.Row, call *calls.Call, raw layout.Row) error {
	back := *r
	back.Spread, back.Messages, back.Bytes = profile.ToNobody, 0, 0
	back.Class, _ = profile.ParseClass(call.Class)
	if r.Direction != profile.None {
		moved(p, &back, call, raw)
	}
	if back != *r || raw.Count == 0 {
		return fmt.Errorf("MPI_%s %v: %d calls, %d messages, %d bytes: no recording holds it", r.Call, r.Direction, r.Calls, r.Messages, r.Bytes)
	}
	return nil
}

// way is the meaning of a recorded direction.
type way struct {
	direction profile.Direction
	calls     bool
}

var rawDirections = func() map[way]uint8 {
	m := map[way]uint8{}
	for raw, d := range directions {
		m[way{d.way, d.calls}] = raw
	}
	return m
}()

var abnormalKinds = func() map[profile.AbnormalKind]uint8 {
	m := map[profile.AbnormalKind]uint8{}
	for _, raw := range slices.Sorted(maps.Keys(abnormalDirections)) {
		m[abnormalDirections[raw]] = raw
	}
	return m
}()

// rawAbnormal is the inverse of addAbnormal.
func rawAbnormal(p *profile.Profile, a *profile.AbnormalOps) (layout.Row, error) {
	call, ok := callNamed(a.Call)
	direction, known := abnormalKinds[a.Kind]
	if !ok || !known || a.Count == 0 {
		return layout.Row{}, fmt.Errorf("%v of MPI_%s, %d times: no recording holds it", a.Kind, a.Call, a.Count)
	}
	comm, err := commOf(p, a.Comm)
	return layout.Row{Callsite: a.Callsite, Comm: comm, Peer: a.Peer, Slice: a.Slice, Call: call.ID,
		Direction: direction, Count: a.Count, Bytes: a.Bytes}, err
}

// appendRows encodes rows one after the other. A reader does not depend on a
// row's position in its table.
func appendRows(raw []byte, rows []layout.Row) []byte {
	raw = slices.Grow(raw, len(rows)*binary.Size(layout.Row{}))
	for _, r := range rows {
		raw = order.AppendUint64(raw, r.Callsite)
		raw = order.AppendUint32(raw, r.Comm)
		raw = order.AppendUint32(raw, uint32(r.Peer))
		raw = order.AppendUint32(raw, r.Slice)
		raw = order.AppendUint16(raw, r.Call)
		raw = append(raw, r.Direction, r.SizeClass)
		for _, v := range [...]uint64{r.Count, r.Bytes, r.Time, r.Min, r.Max} {
			raw = order.AppendUint64(raw, v)
		}
	}
	return raw
}

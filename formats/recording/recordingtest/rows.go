package recordingtest

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// callNamed returns the call with this name. It is the inverse of
// profile.CallByID.
func callNamed(name string) (*profile.Call, bool) {
	if number, unknown := strings.CutPrefix(name, "call-"); unknown {
		id, err := strconv.ParseUint(number, 10, 16)
		return profile.CallByID(uint16(id)), err == nil
	}
	c := profile.CallNamed(name)
	return c, c != nil
}

// starter returns a call that starts persistent requests. Its rows with
// DirPosted count posted receives.
func starter() *profile.Call {
	i := slices.IndexFunc(profile.Calls, func(c profile.Call) bool { return c.Traits.Any(profile.TraitStarts) })
	return &profile.Calls[i]
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
		seen.add(profile.TraitsOf(call), raw)
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
	if raw.Direction, ok = directions[way{r.Direction, r.Calls > 0}]; !ok {
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
func checkRow(p *profile.Profile, r *profile.Row, call *profile.Call, raw layout.Row) error {
	back := *r
	back.Class, back.Spread, back.Messages, back.Bytes = call.Class, profile.ToNobody, 0, 0
	if r.Direction != profile.None {
		spread, fan, total := spreadOf(p, r, call)
		back.Spread, back.Messages, back.Bytes = spread, raw.Count*fan, raw.Bytes
		if call.Class == profile.IO {
			back.Messages = 0
		}
		if !total {
			back.Bytes *= fan
		}
	}
	if back != *r || raw.Count == 0 {
		return fmt.Errorf("MPI_%s %v: %d calls, %d messages, %d bytes: no recording holds it", r.Call, r.Direction, r.Calls, r.Messages, r.Bytes)
	}
	return nil
}

// spreadOf returns to whom a row's messages go, to how many processes each
// (fan), and whether a recording has the bytes to all of them (total) or to one.
func spreadOf(p *profile.Profile, r *profile.Row, call *profile.Call) (s profile.Spread, fan uint64, total bool) {
	if r.Comm < 0 {
		return profile.ToNobody, 1, true
	}
	s = call.Spread
	gathered := call.Class == profile.AllToOne && r.Direction == profile.Recv // at the root
	if gathered {
		s = profile.ToOthers
	}
	total = call.Traits.Any(profile.TraitIrregular) && (gathered || s == profile.ToVector || s == profile.ToEdgeVector)
	return s, uint64(p.Comms[r.Comm].FanOut(s)), total
}

// way is the meaning of a recorded direction.
type way struct {
	direction profile.Direction
	calls     bool
}

var directions = map[way]uint8{
	{profile.None, true}: layout.DirNone, {profile.Send, true}: layout.DirSend, {profile.Recv, true}: layout.DirRecv,
	{profile.Read, true}: layout.DirRead, {profile.Write, true}: layout.DirWrite,
	{profile.Recv, false}: layout.DirRecvPosted, {profile.Send, false}: layout.DirSendPosted,
	{profile.Read, false}: layout.DirReadPosted,
}

var abnormalDirections = map[profile.AbnormalKind]uint8{
	profile.CancelledReceive: layout.DirCancelled, profile.TruncatedReceive: layout.DirTruncated,
	profile.FreedReceive: layout.DirFreed, profile.FailedReceive: layout.DirFailed,
	profile.UnfinishedReceive: layout.DirUnfinished, profile.UntoldReceive: layout.DirUntold,
	profile.CancelledSend: layout.DirSendCancelled, profile.FreedSend: layout.DirSendFreed,
	profile.FailedSend: layout.DirSendFailed, profile.DoubtfulSend: layout.DirSendDoubtful,
	profile.LeftCall: layout.DirLeft,
}

// receives counts the receives that complete in another call than the one that
// posted them.
type receives struct {
	posted, ended uint64
	unfollowed    bool // the outcome of nonblocking receives is not recorded
}

func (r *receives) add(traits profile.Traits, raw layout.Row) {
	nonblocking := traits.All(profile.TraitReceives | profile.TraitNonblocking)
	if !nonblocking && !traits.Any(profile.TraitStarts) || r.unfollowed && nonblocking {
		return
	}
	posts := nonblocking && !traits.Any(profile.TraitSends) && (raw.Peer >= 0 || raw.Peer == layout.PeerAnySource)
	switch d := raw.Direction; {
	case d == layout.DirPosted, d == layout.DirNone && posts:
		r.posted += raw.Count
	case d == layout.DirRecvPosted, layout.DirCancelled <= d && d <= layout.DirUntold:
		r.ended += raw.Count
	}
}

// rawLate is the inverse of addLate.
func rawLate(p *profile.Profile, l *profile.Late) (layout.Row, error) {
	call, ok := callNamed(l.Call)
	if !ok || l.Count == 0 {
		return layout.Row{}, fmt.Errorf("late receives of MPI_%s, %d times: no recording holds it", l.Call, l.Count)
	}
	comm, err := commOf(p, l.Comm)
	return layout.Row{Callsite: l.Callsite, Comm: comm, Peer: l.Peer, Slice: l.Slice, Call: call.ID,
		Direction: layout.DirLate, Count: l.Count, Bytes: l.Queued}, err
}

// rawAbnormal is the inverse of addAbnormal.
func rawAbnormal(p *profile.Profile, a *profile.AbnormalOps) (layout.Row, error) {
	call, ok := callNamed(a.Call)
	direction, known := abnormalDirections[a.Kind]
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

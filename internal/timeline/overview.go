package timeline

import (
	"io"

	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/profile"
)

// Overview is what all ranks of a job did over the whole run, MPI_Init included.
type Overview struct {
	Zero, End int64 // start of the first event and end of the last, Unix ns
	// InitEnd is when the first rank left MPI_Init, Unix ns, or 0 if that is
	// unknown.
	InitEnd int64
	Lines   []Line
	PerLane int // lines per lane; the last lane may have fewer
	Columns int
	// Shares has for each lane the share of each activity but the first
	// (outside MPI) in each column: Shares[lane][column*(len(Activities())-1)+activity-1].
	Shares [][]float32
	// Messages are the slowest of the largest messages, in no particular order.
	Messages    []Message
	AllMessages int      // number of all messages that were received
	Missing     []string // what the traces do not contain
}

// Line is a rank, or one of its threads.
type Line struct {
	Rank   int
	Thread int // -1 for all threads of the rank
}

// Message is a point-to-point message of which both ends were traced.
type Message struct {
	From, To   int   // lines of the sender and the receiver
	Start, End int64 // start of the send and end of the receive, Unix ns
	Bytes      uint64
	Tag        int32
	Comm       string // label
}

// OverviewOptions limit the size of an overview.
type OverviewOptions struct {
	Columns, Lanes int
	// Messages is the number of messages to select. Up to 2^15 sends and as many receives are kept
	// until they are matched, or up to Messages if that is more.
	Messages int
	Log      io.Writer // where to show progress if it is a terminal; may be nil
}

// Survey returns the overview of one job. The sources are in the order of ranks.
func Survey(sources []profile.EventSource, limits OverviewOptions) (*Overview, error) {
	o := &Options{IncludeInit: true, Log: limits.Log}
	seen, err := survey(sources, o)
	if err != nil {
		return nil, err
	}
	p, err := selected(sources, seen, o)
	if err != nil {
		return nil, err
	}
	p.Timeline, p.columns = &plot.Timeline{}, limits.Columns
	p.fold(limits.Lanes)
	p.messages = newMessages(p, max(maxEnds, limits.Messages), limits.Messages)
	if err := p.fill(o.Log); err != nil {
		return nil, err
	}
	return p.overview(), nil
}

func (p *drawing) overview() *Overview {
	o := &Overview{Zero: p.zero, End: p.to, InitEnd: p.initEnd(), PerLane: p.PerLane, Columns: p.columns, Missing: p.missing()}
	for _, l := range p.lines {
		o.Lines = append(o.Lines, Line{l.rank, l.thread})
	}
	for i := range p.Lanes {
		o.Shares = append(o.Shares, p.Lanes[i].Shares)
	}
	found, of := p.messages.joined()
	o.AllMessages = of
	for _, m := range found {
		o.Messages = append(o.Messages, Message{From: m.sent.line, To: m.received.line, Start: m.sent.at, End: m.received.at,
			Bytes: m.sent.bytes, Tag: m.sent.tag, Comm: p.messages.comms[m.sent.comm]})
	}
	return o
}

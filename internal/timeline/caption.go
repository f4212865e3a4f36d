package timeline

import (
	"fmt"
	"time"

	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/internal/text"
)

// finish adds the lanes, the messages and the caption after all events were
// read.
func (p *drawing) finish() {
	p.Caption = append(p.Caption, p.linesText())
	if p.skipped > 0 {
		p.Caption = append(p.Caption, fmt.Sprintf("%s in MPI_Init before (--include-init)", text.Duration(float64(p.skipped), false)))
	}
	if p.messages != nil {
		p.link()
	}
	p.Caption = append(p.Caption, p.missing()...)
}

// linesText returns what one lane shows.
func (p *drawing) linesText() string {
	ranks := len(ranksOnly(p.lines))
	words := text.CountOf(ranks, "rank")
	if n := len(p.lines); n > ranks {
		words += ", " + text.CountOf(n, "thread")
	}
	if p.PerLane > 1 {
		words += fmt.Sprintf(", %d in a lane", p.PerLane)
	}
	return words
}

// link adds the messages.
func (p *drawing) link() {
	found, of := p.messages.joined()
	for _, m := range found {
		p.Links = append(p.Links, plot.Link{From: m.sent.line / p.PerLane, To: m.received.line / p.PerLane,
			Start: time.Duration(m.sent.at - p.zero).Seconds(), End: time.Duration(m.received.at - p.zero).Seconds()})
	}
	if of == 0 {
		p.Caption = append(p.Caption, "no messages")
	}
	p.AllLinks, p.LinkName, p.LinkChoice = of, "message", "the longest that can be distinguished"
	if p.messages.sends.cut || p.messages.receives.cut {
		p.LinkChoice = "the longest of the largest that can be distinguished"
	}
}

// missing returns what the traces do not contain.
func (p *drawing) missing() []string {
	var dropped uint64
	cut := 0
	for _, source := range p.drawn() {
		t := p.sources[source].Trace()
		dropped += t.Dropped
		if t.Cut {
			cut++
		}
	}
	var out []string
	if cut > 0 {
		out = append(out, "of "+text.CountOf(cut, "rank")+" not all calls were traced: what looks like time outside MPI may be in it")
	}
	if dropped > 0 {
		out = append(out, text.CountOf(dropped, "event")+" had no room in the traces")
	}
	return out
}

// drawn returns the sources that are in the picture.
func (p *drawing) drawn() []int {
	var sources []int
	for _, l := range ranksOnly(p.lines) {
		sources = append(sources, l.source)
	}
	return sources
}

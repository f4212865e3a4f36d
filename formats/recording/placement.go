package recording

import (
	"fmt"
	"io"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// Where the process ran, and its use of the processor: records of version 7.

// readPlacement keeps the latest record.
func (f *file) readPlacement(r *record) error {
	var p layout.Placement
	r.head(&p)
	mask := r.uint64s(p.Words)
	if r.err != nil {
		return r.err
	}
	if p.Words > profile.MaxProcessors/64 || max(p.NodeProcessors, p.NodeCores, p.NodeSockets) > profile.MaxProcessors {
		return fmt.Errorf("placement with %d words of mask on %d processors", p.Words, p.NodeProcessors)
	}
	var processors []int
	for n := range 64 * int(p.Words) {
		if mask[n/64]>>(n%64)&1 != 0 {
			processors = append(processors, n)
		}
	}
	f.placement = &profile.Placement{Processors: profile.ProcessorList(processors), CPULimit: float64(p.CPULimit) / 1000,
		LimitGroup: p.LimitGroup, NodeProcessors: int(p.NodeProcessors), NodeCores: int(p.NodeCores), NodeSockets: int(p.NodeSockets)}
	return nil
}

func (f *file) readUsage(r *record) error {
	var u layout.Usage
	if r.head(&u); r.err == nil {
		f.usage = append(f.usage, u)
	}
	return r.err
}

func (f *file) addPlacement(p *profile.Profile, scale float64) {
	p.Placement = f.placement
	for _, u := range f.usage {
		p.Usage = append(p.Usage, profile.Usage{Slice: u.Slice, WallNs: ns(u.Ticks, scale), UserNs: u.UserNs, SystemNs: u.SystemNs,
			Voluntary: u.Voluntary, Involuntary: u.Involuntary, RunDelayNs: u.RunDelay, DelayKnown: u.DelayKnown != 0})
	}
}

func dumpPlacement(w io.Writer, p *profile.Profile) {
	if at := p.Placement; at != nil {
		fmt.Fprintf(w, "placement\tprocessors %s\tcpu limit %g\tlimit group %d\tnode: processors %d, cores %d, sockets %d\n",
			at.Processors, at.CPULimit, at.LimitGroup, at.NodeProcessors, at.NodeCores, at.NodeSockets)
	}
	if u := p.ThreadUse; u != nil {
		fmt.Fprintf(w, "threads\tbusy %d\tcpu_ns %d\trun_delay_ns %d\tincomplete %t\n", u.Busy, u.CPUNs, u.DelayNs, u.Incomplete)
	}
	for _, u := range p.Usage {
		fmt.Fprintf(w, "usage\tslice %d\twall_ns %d\tuser_ns %d\tsystem_ns %d\tvoluntary switches %d\tinvoluntary %d\trun_delay_ns %d\tknown %t\n",
			u.Slice, u.WallNs, u.UserNs, u.SystemNs, u.Voluntary, u.Involuntary, u.RunDelayNs, u.DelayKnown)
	}
}

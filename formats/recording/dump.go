package recording

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// Dump writes the contents of the recording at path as text, line by line, in
// the order of the file's tables.
func Dump(w io.Writer, path string) error {
	return withUnread(path, "dump", wholeFile, func(f *file) error {
		if err := f.open(); err != nil {
			return err
		}
		return f.dump(w)
	})
}

func (f *file) dump(w io.Writer) error {
	out := bufio.NewWriter(w)
	f.keepSamples = f.timing() == profile.TimingSampled
	f.dumpHeader(out)
	p := f.profile()
	dumpComms(out, p)
	f.dumpRows(out, p)
	dumpRest(out, p)
	dumpTools(out, p)
	dumpPlacement(out, p)
	for _, problem := range p.Problems {
		fmt.Fprintf(out, "problem\t%s\n", problem)
	}
	return out.Flush()
}

func (f *file) dumpHeader(w io.Writer) {
	h := &f.header
	fmt.Fprintf(w, "recording\tversion %d\tstate %v\tend %d\n", h.Version, profile.State(h.State), h.End)
	fmt.Fprintf(w, "process\trank %d of %d\tpid %d\n", h.WorldRank, h.WorldSize, h.Pid)
	fmt.Fprintf(w, "settings\ttiming %v\treceives %s\n", f.timing(), profile.ReceivesText(f.unfollowed()))
	fmt.Fprintf(w, "lost\tcalls %d\tfolded %d\trequests %d\tcommunicators %d\tnegative ticks %d\tuntimed %d\tstacks %d\treadings %d\tpauses %d\n",
		h.LostCalls, h.FoldedCalls, h.LostRequests, h.LostComms, h.NegativeTicks, h.UntimedCalls, h.LostStacks, h.LostReadings, h.Pauses)
	for _, c := range []struct {
		name string
		at   layout.Clock
	}{{"start", h.Start}, {"init-end", h.InitEnd}, {"last", h.Last}, {"finalize-start", h.FinalizeStart}, {"finalize-end", h.FinalizeEnd}} {
		fmt.Fprintf(w, "clock\t%s\tticks %d\tmonotonic_ns %d\trealtime_ns %d\n", c.name, c.at.Ticks, c.at.Monotonic, c.at.Realtime)
	}
	for _, s := range []struct {
		name string
		key  uint32
	}{{"host", layout.StringHost}, {"job", layout.StringJob}, {"program", layout.StringProgram},
		{"command", layout.StringCommand}, {"library", layout.StringLibrary}, {"tool", layout.StringTool},
		{"intercepted", layout.StringIntercepted}, {"alone", layout.StringAlone}, {"direct", layout.StringDirect},
		{"boot", layout.StringBoot}} {
		fmt.Fprintf(w, "string\t%s\t%q\n", s.name, f.strings[s.key])
	}
	for _, line := range f.messages() {
		fmt.Fprintf(w, "message\t%q\n", line)
	}
	for _, t := range f.threads {
		fmt.Fprintf(w, "thread\t%d\ttable at %d\trows %d\n", t.Index, t.Table, f.tables[t.Table].Rows)
	}
	for _, s := range f.slices {
		fmt.Fprintf(w, "slice\t%d\t%q\tticks %d\n", s.Index, s.name, s.Start)
	}
	for _, m := range f.modules {
		fmt.Fprintf(w, "module\t%#x-%#x\tbias %#x\t%s\t%q\n", m.Start, m.End, m.Bias, m.buildID, m.path)
	}
	for _, site := range slices.Sorted(maps.Keys(f.stacks)) {
		fmt.Fprintf(w, "stack\t%#x\t%#x\n", site, f.stacks[site])
	}
}

func dumpComms(w io.Writer, p *profile.Profile) {
	for i := range p.Comms {
		c := &p.Comms[i]
		fmt.Fprintf(w, "comm\t%d\t%s\t%q\tparent %d\trank %d\tmembers %v", i, c.ID, c.Label(), c.Parent, c.Rank, c.Members.Ranks())
		if c.Inter {
			fmt.Fprintf(w, "\tremote %v", c.Remote.Ranks())
		}
		if c.Edges != nil {
			fmt.Fprintf(w, "\tedges %v", c.Edges)
		}
		fmt.Fprintf(w, "\tfreed %t\tfolded %d\n", c.Freed, c.Folded)
	}
}

// dumpRows writes the rows. With sampled timing it adds the estimated times
// and, after each row, its sample in ticks.
func (f *file) dumpRows(w io.Writer, p *profile.Profile) {
	for i := range p.Rows {
		r := &p.Rows[i]
		fmt.Fprintf(w, "row\tthread %d\tMPI_%s\t%v\tcomm %d\tpeer %d\tclass %d\tsite %#x\tslice %d\tcalls %d\tmessages %d\tbytes %d",
			r.Thread, r.Call, r.Direction, r.Comm, r.Peer, r.SizeClass, r.Callsite, r.Slice, r.Calls, r.Messages, r.Bytes)
		switch p.Timing {
		case profile.TimingExact:
			fmt.Fprintf(w, "\ttime_ns %d\tmin_ns %d\tmax_ns %d\n", r.TimeNs, r.MinNs, r.MaxNs)
		case profile.TimingSampled:
			s := &f.kept[i]
			fmt.Fprintf(w, "\ttime_ns %d\ttime_error_ns %d\tmin_ns %d\tmax_ns %d\ttimed %d\tearly %d\tearly_ticks %d\tearly_squares %g\tsquares %g\tevery %d\n",
				r.TimeNs, r.TimeErrorNs, r.MinNs, r.MaxNs, s.Timed, s.Early, s.EarlyTime, s.EarlySquares, s.Squares, s.Every)
		default:
			fmt.Fprint(w, "\ttime_ns -\tmin_ns -\tmax_ns -\n")
		}
	}
}

// dumpRest writes everything that is not in rows.
func dumpRest(w io.Writer, p *profile.Profile) {
	for i := range p.Open {
		o := &p.Open[i]
		fmt.Fprintf(w, "open\tthread %d\tMPI_%s\t%v\tcomm %d\tpeer %d\tsource %d\trequests %d\tcode %d\tbytes %d\tsized %t\tsite %#x\tslice %d\tsince_ns %d\n",
			o.Thread, o.Call, o.Direction, o.Comm, o.Peer, o.Source, o.Requests, o.Code, o.Bytes, o.Sized, o.Callsite, o.Slice, o.Start)
	}
	for i := range p.Abnormal {
		a := &p.Abnormal[i]
		fmt.Fprintf(w, "abnormal\t%v\tMPI_%s\tcomm %d\tpeer %d\tsite %#x\tslice %d\tcount %d\tbytes %d\n",
			a.Kind, a.Call, a.Comm, a.Peer, a.Callsite, a.Slice, a.Count, a.Bytes)
	}
	for i := range p.Vectors {
		v := &p.Vectors[i]
		fmt.Fprintf(w, "vector\tthread %d\tMPI_%s\tcomm %d\tsite %#x\tslice %d\tcalls %d\tbytes %v\n",
			v.Thread, v.Call, v.Comm, v.Callsite, v.Slice, v.Calls, v.Bytes)
	}
}

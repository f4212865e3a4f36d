package views

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/profile"
)

// topAll tells the user of a terminal how to see all entries of a list.
const topAll = " (mpitrace report --top all)"

// The columns of sums of calls.

func callsColumn[R any](totals func(*R) *aggregate.Totals) column[R] {
	return col("calls", "calls", Count, func(r *R) Cell { return countCell(totals(r).Calls) })
}

func timeColumn[R any](totals func(*R) *aggregate.Totals) column[R] {
	return col("time_ns", "time", Ns, func(r *R) Cell {
		t := totals(r)
		return estimateCell(float64(t.TimeNs), t.TimeVariance.StandardError())
	})
}

// shareOfMPI returns the share of the time in MPI, of which calls that set MPI up are no part.
// call is empty for sums of several calls.
func (s *report) shareOfMPI(call string, t *aggregate.Totals) Cell {
	if profile.SetsUp(call) {
		return missing
	}
	return ratioCell(float64(t.TimeNs)/1e9, s.MPITimeS)
}

func messagesColumn[R any](head string, volume func(*R) *matrix.Volume) column[R] {
	return col("messages", head, Count, func(r *R) Cell {
		if v := volume(r); v != nil {
			return countCell(v.Messages)
		}
		return missing
	})
}

func bytesColumn[R any](head string, volume func(*R) *matrix.Volume) column[R] {
	return col("bytes", head, Bytes, func(r *R) Cell {
		if v := volume(r); v != nil {
			return bytesCell(v.Bytes)
		}
		return missing
	})
}

// notFollowed reports whether a call received nothing that is known because its receives were
// not followed (--receives off). Only calls that post nonblocking receives lack them: a Send
// receives nothing, and a Recv is its own record.
func (s *report) notFollowed(call string, received matrix.Volume) bool {
	return received == (matrix.Volume{}) && s.Receives != profile.ReceivesOn && profile.PostsReceive(call)
}

// received returns the bytes that a call received. They are not known of collectives, which
// record only what they send, and of receives that were not followed: 0 would look like lost
// data.
func (s *report) received(c *aggregate.CallTotals) Cell {
	class, _ := profile.ParseClass(c.Class)
	if c.Received == (matrix.Volume{}) && class.Collective() || s.notFollowed(c.Call, c.Received) {
		return missing
	}
	return bytesCell(c.Received.Bytes)
}

// setUpCalls returns the names of the calls that the time in MPI leaves out: Init and Finalize.
func (s *report) setUpCalls() string {
	var names []string
	for _, c := range s.Calls {
		if profile.SetsUp(c.Call) {
			names = append(names, c.Call)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) }) // Init comes first
	return strings.Join(names, " and ")
}

// calls returns the section of sums by call and by class.
func (s *report) calls() Section {
	out := Section{ID: "calls", Title: "Calls"}
	setUp := s.setUpCalls()
	switch {
	case len(s.Calls) == 0:
		out.Say("no MPI calls")
	case !s.callsMPI():
		out.Say(fmt.Sprintf("no MPI calls but %s", setUp))
	default:
		out.Add(s.callTable())
		out.Add(s.classTable(setUp))
	}
	return out
}

// callsMPI reports whether the job made calls that do not only set MPI up.
func (s *report) callsMPI() bool {
	return slices.ContainsFunc(s.Calls, func(c aggregate.CallTotals) bool { return !profile.SetsUp(c.Call) })
}

func (s *report) callTable() *Table {
	type R = aggregate.CallTotals
	totals := func(c *R) *aggregate.Totals { return &c.Totals }
	sent := func(c *R) *matrix.Volume { return &c.Sent }
	timed := s.Timed()
	t := tableOf("calls", s.Calls,
		col("call", "call", Words, func(c *R) Cell { return wordsCell(c.Call) }),
		callsColumn(totals),
		timeColumn(totals).when(timed),
		col("share_of_mpi", "% of MPI", Share, func(c *R) Cell { return s.shareOfMPI(c.Call, &c.Totals) }).when(timed),
		col("mean_ns", "mean", Ns, func(c *R) Cell { return nsCell(c.MeanNs) }).spare(1).when(timed),
		col("min_ns", "shortest", Ns, func(c *R) Cell { return nsCell(float64(c.MinNs)) }).detail().when(timed),
		col("max_ns", "longest", Ns, func(c *R) Cell { return nsCell(float64(c.MaxNs)) }).detail().when(timed),
		messagesColumn("msgs sent", sent), bytesColumn("sent", sent),
		col("received", "received", Bytes, s.received).spare(2),
	).top(s.Top, "call", topAll)
	for i := range s.Calls {
		t.Rows[i].Detail = profile.SetsUp(s.Calls[i].Call)
	}
	return t
}

// classMeaning explains the names of the classes that --class takes.
var classMeaning = map[string]string{
	profile.P2P.String():      " (point-to-point)",
	profile.OneToAll.String(): " (one to all)",
	profile.AllToOne.String(): " (all to one)",
	profile.AllToAll.String(): " (all to all)",
	profile.Sync.String():     " (of windows)",
	profile.IO.String():       " (files)",
}

func (s *report) classTable(setUp string) *Table {
	type R = aggregate.ClassTotals
	totals := func(c *R) *aggregate.Totals { return &c.Totals }
	return tableOf("classes", s.Classes,
		col("class", "class", Words, func(c *R) Cell {
			name := c.Class + classMeaning[c.Class]
			if c.Class == profile.Other.String() && setUp != "" {
				name += ", with " + setUp
			}
			return wordsCell(name)
		}),
		callsColumn(totals), timeColumn(totals).when(s.Timed()),
		messagesColumn("msgs", totalVolume(totals)), bytesColumn("bytes", totalVolume(totals)))
}

// totalVolume returns the function for the messages and bytes of totals.
func totalVolume[R any](totals func(*R) *aggregate.Totals) func(*R) *matrix.Volume {
	return func(r *R) *matrix.Volume {
		t := totals(r)
		return &matrix.Volume{Messages: t.Messages, Bytes: t.Bytes}
	}
}

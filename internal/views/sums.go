package views

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
)

// The largest numbers of rows that are shown at first.
const (
	mostPeers  = 32
	mostComms  = 32
	mostPhases = 12
	mostNodes  = 8
)

// phases returns the section of slices, if there are several.
func (s *report) phases() Section {
	out := Section{ID: "phases", Title: "Phases"}
	if len(s.Slices) < 2 {
		return out
	}
	type R = aggregate.SliceTotals
	totals := func(c *R) *aggregate.Totals { return &c.Totals }
	timed := s.Timed()
	t := tableOf("phases", s.Slices,
		col("slice", "slice", Words, func(c *R) Cell { return wordsCell(c.Slice) }),
		callsColumn(totals), timeColumn(totals).when(timed),
		col("share_of_mpi", "% of MPI", Share, func(c *R) Cell { return s.shareOfMPI("", &c.Totals) }).when(timed),
		messagesColumn("msgs", totalVolume(totals)), bytesColumn("bytes", totalVolume(totals)))
	shown := longest(s.Slices, mostPhases)
	for i := range s.Slices {
		t.Rows[i].Detail = !shown[s.Slices[i].Slice]
	}
	out.Add(t)
	if more := len(s.Slices) - mostPhases; more > 0 {
		how := "with less time"
		if !timed {
			how = "which came later"
		}
		out.Say(fmt.Sprintf("and %s, %s", text.CountOf(more, "more slice"), how))
	}
	return out
}

// longest returns the names of the n slices with the most time in MPI.
func longest(all []aggregate.SliceTotals, n int) map[string]bool {
	byTime := slices.Clone(all)
	slices.SortStableFunc(byTime, func(a, b aggregate.SliceTotals) int { return cmp.Compare(b.TimeNs, a.TimeNs) })
	chosen := map[string]bool{}
	for _, s := range byTime[:min(n, len(byTime))] {
		chosen[s.Slice] = true
	}
	return chosen
}

// peers returns the section of what a rank sent to and received from each other.
func (s *report) peers() Section {
	out := Section{ID: "peers", Title: "Peers"}
	if len(s.rank.Peers) == 0 {
		out.Say("no peers: nothing was sent to it or by it")
		return out
	}
	type R = aggregate.Peer
	used := slices.ContainsFunc(s.rank.Peers, func(p R) bool { return p.CollectiveSent.Messages+p.CollectiveReceived.Messages > 0 })
	out.Add(tableOf("peers", s.rank.Peers,
		col("peer", "peer", Rank, func(p *R) Cell { return rankCell(p.Rank) }),
		col("messages_sent", "msgs sent", Count, func(p *R) Cell { return countCell(p.Sent.Messages) }),
		col("bytes_sent", "sent", Bytes, func(p *R) Cell { return bytesCell(p.Sent.Bytes) }),
		col("messages_received", "msgs received", Count, func(p *R) Cell { return countCell(p.Received.Messages) }),
		col("bytes_received", "received", Bytes, func(p *R) Cell { return bytesCell(p.Received.Bytes) }),
		col("collective_sent", "coll. sent", Bytes, func(p *R) Cell { return bytesCell(p.CollectiveSent.Bytes) }).spare(1).when(used),
		col("collective_received", "coll. received", Bytes, func(p *R) Cell { return bytesCell(p.CollectiveReceived.Bytes) }).spare(2).when(used),
	).top(mostPeers, "peer", ""))
	return out
}

// communicatorsOfRank returns the section of the communicators of a rank.
func (s *report) communicatorsOfRank() Section {
	out := Section{ID: "communicators", Title: "Communicators"}
	if len(s.rank.Comms) == 0 {
		out.Say("no communicators")
		return out
	}
	type R = aggregate.CommTotals
	totals := func(c *R) *aggregate.Totals { return &c.Totals }
	list, limit := s.rank.Comms, mostComms
	without := R{Label: "none (as in Wait)", Rank: -1, Totals: s.rank.WithoutComm()}
	if without.Calls > 0 { // it is shown in any case
		list, limit = slices.Insert(slices.Clone(list), min(len(list), mostComms), without), mostComms+1
	}
	known := func(c *R, cell Cell) Cell {
		if c.Rank < 0 {
			return missing
		}
		return cell
	}
	out.Add(tableOf("communicators", list,
		col("communicator", "communicator", Words, func(c *R) Cell { return wordsCell(c.Label) }),
		col("rank", "rank", Rank, func(c *R) Cell { return known(c, rankCell(c.Rank)) }),
		col("size", "size", Count, func(c *R) Cell { return known(c, Cell{fmt.Sprint(c.Size), c.Size}) }),
		callsColumn(totals), timeColumn(totals).when(s.Timed()),
		col("messages", "msgs sent", Count, func(c *R) Cell { return known(c, countCell(c.Sent.Messages)) }),
		col("bytes", "sent", Bytes, func(c *R) Cell { return known(c, bytesCell(c.Sent.Bytes)) }),
	).top(limit, "communicator", ""))
	return out
}

// communicators returns the section of the communicators of a job, and of the waits on them.
func (s *report) communicators() Section {
	out := Section{ID: "communicators", Title: "Communicators"}
	type R = aggregate.CommSums
	totals := func(c *R) *aggregate.Totals { return &c.Totals }
	sent := func(c *R) *matrix.Volume { return &c.Sent }
	timed := s.Timed()
	out.Detail(func() {
		out.Add(tableOf("communicators", s.Comms,
			col("communicator", "communicator", Words, func(c *R) Cell { return wordsCell(cmp.Or(c.Label, "others")) }),
			col("size", "size", Count, func(c *R) Cell { return countCell(c.Size) }),
			col("ranks", "ranks", Count, func(c *R) Cell { return countCell(c.Ranks) }).help("processes that called on it"),
			callsColumn(totals), timeColumn(totals).when(timed),
			col("share_of_mpi", "% of MPI", Share, func(c *R) Cell { return s.shareOfMPI("", &c.Totals) }).when(timed),
			messagesColumn("msgs sent", sent), bytesColumn("sent", sent)))
	})
	return out
}

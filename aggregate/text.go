package aggregate

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// How many lines the tables of the text form have at most.
const (
	textCalls = 12
	textHosts = 4
	textPeers = 32
	textComms = 32
)

// TextOptions says how text may look.
type TextOptions struct {
	ASCII bool // no other characters
}

func (o TextOptions) shades() []string {
	if o.ASCII {
		return []string{".", "-", "+", "#", "@"}
	}
	return []string{"░", "▒", "▓", "█"}
}

func (o TextOptions) pick(unicode, ascii string) string {
	if o.ASCII {
		return ascii
	}
	return unicode
}

func (o TextOptions) duration(ns float64) string { return durationText(ns, o.pick("µs", "us")) }

func (o TextOptions) seconds(s float64) string { return o.duration(1e9 * s) }

func (o TextOptions) clean(s string) string { return printable(s, o.ASCII) }

// Text writes the summary for people to read on a terminal.
func (s *Summary) Text(w io.Writer, o TextOptions) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s on %d of %d ranks, %s\n", o.clean(s.Program), s.RanksRecorded, s.RanksExpected, s.hostsText(o))
	s.head(b, o, "over all ranks: ")
	s.tables(b, o)
	s.pairsText(b, o)
	if s.Heatmap != nil {
		fmt.Fprintln(b, "\nbytes between ranks")
		s.Heatmap.text(b, o)
	}
	s.problemsText(b, o)
	return b.Flush()
}

// Text writes the summary of a rank for people to read on a terminal.
func (s *RankSummary) Text(w io.Writer, o TextOptions) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "rank %d of %d of %s, ", s.Rank, s.RanksExpected, o.clean(s.Program))
	for _, r := range s.Ranks {
		fmt.Fprintf(b, "process %d on %s, %s\n", r.Pid, o.clean(r.Host), r.State)
	}
	s.head(b, o, "")
	s.tables(b, o)
	s.peersText(b, o)
	s.commsText(b, o)
	s.problemsText(b, o)
	return b.Flush()
}

func (s *Summary) hostsText(o TextOptions) string {
	names := []string{}
	for i, h := range s.Hosts {
		if i == textHosts {
			names = append(names, "...")
			break
		}
		names = append(names, o.clean(h.Name))
	}
	return countOf(uint64(len(s.Hosts)), "host") + " (" + strings.Join(names, ", ") + ")"
}

// head writes what the times are of before the sums.
func (s *Summary) head(w io.Writer, o TextOptions, of string) {
	fmt.Fprintf(w, "%s; run %s", o.clean(s.Library), o.clean(s.Run))
	if !s.Started.IsZero() {
		fmt.Fprintf(w, ", started %s", s.Started.Format("2006-01-02 15:04:05 UTC"))
	}
	fmt.Fprintf(w, "\nwall time %s; %sapplication %s, in MPI %s; Init and Finalize, apart: %s\n",
		o.seconds(s.WallTimeS), of, o.seconds(s.ApplicationTimeS), o.seconds(s.MPITimeS), o.seconds(s.InitFinalizeTimeS))
	fmt.Fprintf(w, "share of MPI time: mean %s", percent(s.MPIShare.Mean))
	if len(s.Ranks) > 1 {
		fmt.Fprintf(w, ", min %s (rank %d), max %s (rank %d)",
			percent(s.MPIShare.Min), s.MPIShare.MinRank, percent(s.MPIShare.Max), s.MPIShare.MaxRank)
	}
	fmt.Fprintln(w)
}

func (s *Summary) tables(w io.Writer, o TextOptions) {
	t := table{{"call", "calls", "time", "% of MPI", "mean", "msgs sent", "sent", "received"}}
	rest := 0
	for _, c := range s.Calls {
		if setsUp(c.Call) {
			continue
		}
		if len(t) > textCalls {
			rest++
			continue
		}
		share := 0.0
		if s.MPITimeS > 0 {
			share = seconds(c.TimeNs) / s.MPITimeS
		}
		t = append(t, []string{o.clean(c.Call), count(c.Calls), o.duration(float64(c.TimeNs)), percent(share),
			o.duration(c.MeanNs), count(c.Sent.Messages), bytesText(c.Sent.Bytes), bytesText(c.Received.Bytes)})
	}
	fmt.Fprintln(w)
	t.write(w)
	if rest > 0 {
		fmt.Fprintf(w, "and %s\n", countOf(uint64(rest), "more call"))
	}
	t = table{{"class", "calls", "time", "msgs", "bytes"}}
	for _, c := range s.Classes {
		t = append(t, []string{c.Class, count(c.Calls), o.duration(float64(c.TimeNs)), count(c.Messages), bytesText(c.Bytes)})
	}
	fmt.Fprintln(w)
	t.write(w)
}

func (s *Summary) pairsText(w io.Writer, o TextOptions) {
	if len(s.Pairs) == 0 {
		return
	}
	all := s.Traffic[0] // All comes first
	t := table{{"top pairs", "bytes", "% of all", "msgs", "mean size"}}
	for _, c := range s.Pairs {
		share, mean := 0.0, uint64(0)
		if all.Bytes > 0 {
			share = float64(c.Bytes) / float64(all.Bytes)
		}
		if c.Messages > 0 {
			mean = (c.Bytes + c.Messages/2) / c.Messages
		}
		t = append(t, []string{fmt.Sprintf("%d %s %d", c.From, o.pick("→", "->"), c.To),
			bytesText(c.Bytes), percent(share), count(c.Messages), bytesText(mean)})
	}
	fmt.Fprintln(w)
	t.write(w)
	if more := all.Pairs - len(s.Pairs); more > 0 {
		fmt.Fprintf(w, "and %s\n", countOf(uint64(more), "more pair"))
	}
}

func (s *RankSummary) peersText(w io.Writer, o TextOptions) {
	t := table{{"peer", "msgs sent", "sent", "msgs received", "received"}}
	for _, p := range s.Peers[:min(len(s.Peers), textPeers)] {
		t = append(t, []string{fmt.Sprint(p.Rank), count(p.Sent.Messages), bytesText(p.Sent.Bytes),
			count(p.Received.Messages), bytesText(p.Received.Bytes)})
	}
	fmt.Fprintln(w)
	t.write(w)
	if more := len(s.Peers) - textPeers; more > 0 {
		fmt.Fprintf(w, "and %s\n", countOf(uint64(more), "more peer"))
	}
}

func (s *RankSummary) commsText(w io.Writer, o TextOptions) {
	t := table{{"communicator", "rank", "size", "calls", "time", "msgs sent", "sent"}}
	for _, c := range s.Comms[:min(len(s.Comms), textComms)] {
		t = append(t, []string{o.clean(c.Label), fmt.Sprint(c.Rank), fmt.Sprint(c.Size), count(c.Calls),
			o.duration(float64(c.TimeNs)), count(c.Sent.Messages), bytesText(c.Sent.Bytes)})
	}
	fmt.Fprintln(w)
	t.write(w)
	if more := len(s.Comms) - textComms; more > 0 {
		fmt.Fprintf(w, "and %s\n", countOf(uint64(more), "more communicator"))
	}
}

func (s *Summary) problemsText(w io.Writer, o TextOptions) {
	if len(s.Problems) == 0 {
		fmt.Fprintln(w, "\ncomplete: finalized, nothing lost, sent equals received")
		return
	}
	fmt.Fprintln(w, "\nwhat does not add up:")
	for _, p := range s.Problems {
		fmt.Fprintf(w, "  %s\n", o.clean(p))
	}
}

// table is lines of cells; the first line is the head. The first column is
// flush left, the others flush right.
type table [][]string

func (t table) write(w io.Writer) {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				fmt.Fprint(w, cell, pad)
			} else {
				fmt.Fprint(w, "  ", pad, cell)
			}
		}
		fmt.Fprintln(w)
	}
}

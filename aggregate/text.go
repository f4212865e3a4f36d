package aggregate

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// How many lines the tables of the text form have at most.
const (
	textHosts = 4
	textPeers = 32
	textComms = 32
	textSlice = 12

	textVariables = 12
)

// TextOptions says how text may look.
type TextOptions struct {
	ASCII     bool      // no other characters
	Width     int       // characters of a line, which tables keep to where they can; 0 is any
	Sites     int       // lines of calls and of call sites; all if it is below 0
	SortSites SiteOrder // ByTime if empty
	// Missing says what the run lacks that belongs to none of its jobs: a job with
	// nothing wrong of its own is not called complete then.
	Missing []string

	omitted *[]string // columns that there was no room for
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

// none stands for a number that there is not.
func (o TextOptions) none() string { return o.pick("–", "-") }

func (o TextOptions) duration(ns float64) string { return durationText(ns, o.pick("µs", "us")) }

// estimate is a time with its standard error, if it has one.
func (o TextOptions) estimate(ns float64, wrong float64) string {
	if wrong == 0 {
		return o.duration(ns)
	}
	return estimateText(ns, wrong, o.pick("µs", "us"), o.pick("±", "+-"))
}

func (o TextOptions) time(t *Totals) string {
	return o.estimate(float64(t.TimeNs), t.TimeVariance.StandardError())
}

func (o TextOptions) seconds(s float64) string { return o.duration(1e9 * s) }

func (o TextOptions) clean(s string) string {
	if o.ASCII {
		return text.ASCII(s)
	}
	return text.Line(s)
}

// Text writes the summary for people to read on a terminal.
func (s *Summary) Text(w io.Writer, o TextOptions) error {
	b := &text.Wrapper{W: bufio.NewWriter(w), Width: o.Width}
	o.omitted = new([]string)
	fmt.Fprintf(b, "%s on %d of %d ranks, %s\n", o.clean(s.Program), s.RanksRecorded, s.RanksExpected, s.hostsText(o))
	s.head(b, o, "over all ranks: ")
	s.popText(b, o)
	OversubscriptionText(b, s.Oversubscribed, s.RanksRecorded, o)
	s.balanceText(b, o)
	s.localityText(b)
	s.tables(b, o)
	s.lateText(b, o)
	s.sizesText(b, o)
	s.pairsText(b, o)
	s.heatmapsText(b, o)
	s.physicalText(b, o)
	s.pvarsText(b, o)
	s.Conservation.text(b, o)
	s.untimedText(b)
	s.endsText(b, o)
	s.problemsText(b, o)
	o.omittedText(b)
	return b.Flush()
}

// Text writes the summary of a rank for people to read on a terminal.
func (s *RankSummary) Text(w io.Writer, o TextOptions) error {
	b := &text.Wrapper{W: bufio.NewWriter(w), Width: o.Width}
	o.omitted = new([]string)
	fmt.Fprintf(b, "rank %d of %d of %s, ", s.Rank, s.RanksExpected, o.clean(s.Program))
	for _, r := range s.Ranks {
		fmt.Fprintf(b, "process %d on %s, %s\n", r.Pid, o.clean(r.Host), stateText(r.State))
	}
	s.head(b, o, "")
	s.placementText(b, o)
	s.tables(b, o)
	s.lateText(b, o)
	s.sizesText(b, o)
	s.peersText(b, o)
	s.commsText(b, o)
	s.physicalText(b, o)
	s.pvarsText(b, o)
	s.Conservation.text(b, o)
	s.untimedText(b)
	s.endsText(b, o)
	s.problemsText(b, o)
	o.omittedText(b)
	return b.Flush()
}

// stateText does not call a process running: nobody knows whether it still is.
func stateText(state string) string {
	if state == profile.Running.String() {
		return "not finalized"
	}
	return state
}

// untimedText is no problem: the calls that some bindings do not make in C are
// short ones, such as MPI_Comm_set_attr.
func (s *Summary) untimedText(w io.Writer) {
	if s.Untimed > 0 {
		fmt.Fprintf(w, "not timed: %s from Fortran, whose bindings do it without MPI's functions in C\n", CountOf(s.Untimed, "call"))
	}
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
	return CountOf(uint64(len(s.Hosts)), "host") + " (" + strings.Join(names, ", ") + ")"
}

// head writes what the times are of before the sums.
func (s *Summary) head(w io.Writer, o TextOptions, of string) {
	fmt.Fprintf(w, "%s; run %s", o.clean(LibraryName(s.Library)), o.clean(s.Run))
	if !s.Started.IsZero() {
		fmt.Fprintf(w, ", started %s", s.Started.Format("2006-01-02 15:04:05 UTC"))
	}
	fmt.Fprintf(w, "\nwall time %s; %sapplication %s", o.seconds(s.WallTimeS), of, o.seconds(s.ApplicationTimeS))
	if s.timed() {
		fmt.Fprintf(w, ", of which in MPI %s; Init and Finalize %s besides\n", o.estimate(1e9*s.MPITimeS, 1e9*s.MPITimeErrorS), o.seconds(s.InitFinalizeTimeS))
		fmt.Fprintf(w, "share of MPI time: %s\n", shareText(s.Ranks, o))
	} else {
		fmt.Fprintln(w, ", in MPI: not timed")
	}
	s.settingsText(w, o)
	s.variablesText(w, o)
}

// settingsText says what else than usual was recorded.
func (s *Summary) settingsText(w io.Writer, o TextOptions) {
	switch s.Timing {
	case profile.TimingSampled.String():
		fmt.Fprintf(w, "times are estimates (--timing sampled): %s is one standard error\n", o.pick("±", "+-"))
	case profile.TimingOff.String():
		fmt.Fprintln(w, "calls were not timed (--timing off): calls, messages and bytes are exact")
	}
	if s.Receives == profile.ReceivesOff {
		fmt.Fprintln(w, "nonblocking receives were not followed (--receives off): what they received is not known")
	}
}

// LibraryName leaves out what follows Open MPI's version: package, ident, date.
func LibraryName(line string) string {
	if strings.HasPrefix(line, "Open MPI") {
		line, _, _ = strings.Cut(line, ",")
	}
	return line
}

// shareText sums up the ranks whose share is known, and says so if it is not
// all of them.
func shareText(ranks []RankTimes, o TextOptions) string {
	var known []RankTimes
	for _, r := range ranks {
		if r.shareKnown() {
			known = append(known, r)
		}
	}
	if len(known) == 0 {
		return o.none()
	}
	share := shareOf(known)
	text := "mean " + percent(share.Mean)
	if len(known) < len(ranks) {
		text += fmt.Sprintf(" of %s where it is known", CountOf(uint64(len(known)), "rank"))
	}
	if len(known) > 1 {
		text += fmt.Sprintf(", min %s (rank %d), max %s (rank %d)",
			percent(share.Min), share.MinRank, percent(share.Max), share.MaxRank)
	}
	return text
}

// setUpCalls names those calls of the job that are in no line of the table of
// calls, but in their class.
func (s *Summary) setUpCalls() string {
	var names []string
	for _, c := range s.Calls {
		if profile.SetsUp(c.Call) {
			names = append(names, c.Call)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) }) // Init comes first
	return strings.Join(names, " and ")
}

func (s *Summary) tables(w io.Writer, o TextOptions) {
	setUp := s.setUpCalls()
	switch {
	case len(s.Calls) == 0:
		fmt.Fprintln(w, "\nno MPI calls")
	case !slices.ContainsFunc(s.Calls, func(c CallTotals) bool { return !profile.SetsUp(c.Call) }):
		fmt.Fprintf(w, "\nno MPI calls but %s\n", setUp)
	default:
		s.callsText(w, o)
		s.classesText(w, o, setUp)
		s.slicesText(w, o)
		s.sitesText(w, o)
	}
}

func (s *Summary) callsText(w io.Writer, o TextOptions) {
	if o.Sites == 0 {
		return
	}
	t := table{{"call", "calls", "time", "% of MPI", "mean", "msgs sent", "sent", "received"}}
	rest := 0
	for _, c := range s.Calls {
		if profile.SetsUp(c.Call) {
			continue
		}
		if o.Sites >= 0 && len(t) > o.Sites {
			rest++
			continue
		}
		t = append(t, []string{o.clean(c.Call), count(c.Calls), o.time(&c.Totals), s.shareOfMPI(c.TimeNs),
			o.duration(c.MeanNs), count(c.Sent.Messages), bytesText(c.Sent.Bytes), s.receivedText(&c, o)})
	}
	t, _ = o.fit(t, 0, "mean", "received")
	s.writeTimes(w, t)
	if rest > 0 {
		fmt.Fprintf(w, "and %s (mpitrace report --top all)\n", CountOf(uint64(rest), "more call"))
	}
}

// writeTimes writes a table behind an empty line, without the columns of times if
// there are none.
func (s *Summary) writeTimes(w io.Writer, t table) {
	if !s.timed() {
		t = t.without(timeColumns...)
	}
	fmt.Fprintln(w)
	t.write(w)
}

// writeTable writes a table behind an empty line, and how many lines it has not.
func (s *Summary) writeTable(w io.Writer, t table, more int, noun string) {
	fmt.Fprintln(w)
	t.write(w)
	if more > 0 {
		fmt.Fprintf(w, "and %s\n", CountOf(uint64(more), noun))
	}
}

// timeColumns are the heads of what is made of the times of calls.
var timeColumns = []string{"time", "% of MPI", "mean", "min (rank)", "max (rank)"}

func (s *Summary) shareOfMPI(ns uint64) string {
	if s.MPITimeS == 0 {
		return percent(0)
	}
	return percent(seconds(ns) / s.MPITimeS)
}

// receivedText has no number for collectives that record what they send only,
// nor for receives that were not followed: 0 would look like lost data.
func (s *Summary) receivedText(c *CallTotals, o TextOptions) string {
	if c.Received == (matrix.Volume{}) && s.notFollowed(c.Call) {
		return o.none()
	}
	switch c.Class {
	case profile.OneToAll.String(), profile.AllToOne.String(), profile.AllToAll.String():
		if c.Received == (matrix.Volume{}) {
			return o.none()
		}
	}
	return bytesText(c.Received.Bytes)
}

// notFollowed tells whether nobody looked at what a call received.
func (s *Summary) notFollowed(call string) bool {
	return s.Receives != profile.ReceivesOn && profile.PostsReceive(call)
}

// classMeaning tells what the short names of classes, which --class takes, mean.
var classMeaning = map[string]string{
	profile.P2P.String():      " (point-to-point)",
	profile.OneToAll.String(): " (one to all)",
	profile.AllToOne.String(): " (all to one)",
	profile.AllToAll.String(): " (all to all)",
	profile.Sync.String():     " (of windows)",
	profile.IO.String():       " (files)",
}

func (s *Summary) classesText(w io.Writer, o TextOptions, setUp string) {
	t := table{{"class", "calls", "time", "msgs", "bytes"}}
	for _, c := range s.Classes {
		name := c.Class + classMeaning[c.Class]
		if c.Class == profile.Other.String() && setUp != "" {
			name += ", with " + setUp
		}
		t = append(t, []string{name, count(c.Calls), o.time(&c.Totals), count(c.Messages), bytesText(c.Bytes)})
	}
	s.writeTimes(w, t)
}

// slicesText has nothing to tell of a run in one piece.
func (s *Summary) slicesText(w io.Writer, o TextOptions) {
	if len(s.Slices) < 2 {
		return
	}
	t := table{{"slice", "calls", "time", "% of MPI", "msgs", "bytes"}}
	for _, c := range longest(s.Slices, textSlice) {
		t = append(t, []string{o.clean(c.Slice), count(c.Calls), o.time(&c.Totals), s.shareOfMPI(c.TimeNs),
			count(c.Messages), bytesText(c.Bytes)})
	}
	s.writeTimes(w, t)
	if more := len(s.Slices) - textSlice; more > 0 && s.timed() {
		fmt.Fprintf(w, "and %s, with less time\n", CountOf(uint64(more), "more slice"))
	} else if more > 0 {
		fmt.Fprintf(w, "and %s, which came later\n", CountOf(uint64(more), "more slice"))
	}
}

func (s *RankSummary) peersText(w io.Writer, o TextOptions) {
	if len(s.Peers) == 0 {
		fmt.Fprintln(w, "\nno peers: nothing was sent to it or by it")
		return
	}
	collective := []string{"coll. sent", "coll. received"}
	t := table{{"peer", "msgs sent", "sent", "msgs received", "received", collective[0], collective[1]}}
	used := false
	for _, p := range s.Peers[:min(len(s.Peers), textPeers)] {
		used = used || p.CollectiveSent.Messages+p.CollectiveReceived.Messages > 0
		t = append(t, []string{fmt.Sprint(p.Rank), count(p.Sent.Messages), bytesText(p.Sent.Bytes),
			count(p.Received.Messages), bytesText(p.Received.Bytes), bytesText(p.CollectiveSent.Bytes), bytesText(p.CollectiveReceived.Bytes)})
	}
	if !used {
		t = t.without(collective...)
	}
	t, _ = o.fit(t, 0, collective...)
	s.writeTable(w, t, len(s.Peers)-textPeers, "more peer")
}

func (s *RankSummary) commsText(w io.Writer, o TextOptions) {
	if len(s.Comms) == 0 {
		fmt.Fprintln(w, "\nno communicators")
		return
	}
	t := table{{"communicator", "rank", "size", "calls", "time", "msgs sent", "sent"}}
	for _, c := range s.Comms[:min(len(s.Comms), textComms)] {
		t = append(t, []string{o.clean(c.Label), fmt.Sprint(c.Rank), fmt.Sprint(c.Size), count(c.Calls),
			o.time(&c.Totals), count(c.Sent.Messages), bytesText(c.Sent.Bytes)})
	}
	if rest := s.withoutComm(); rest.Calls > 0 {
		t = append(t, []string{"none (as in Wait)", o.none(), o.none(), count(rest.Calls), o.time(&rest), o.none(), o.none()})
	}
	s.writeTimes(w, t)
	if more := len(s.Comms) - textComms; more > 0 {
		fmt.Fprintf(w, "and %s\n", CountOf(uint64(more), "more communicator"))
	}
}

// withoutComm adds up the calls that name no communicator: waits and tests, those on
// windows, datatypes and files.
func (s *RankSummary) withoutComm() Totals {
	var all, in Totals
	for i := range s.Calls {
		if c := &s.Calls[i]; !profile.SetsUp(c.Call) {
			all.plus(c.Totals)
		}
	}
	for i := range s.Comms {
		in.plus(s.Comms[i].Totals)
	}
	return Totals{Calls: all.Calls - min(in.Calls, all.Calls), TimeNs: all.TimeNs - min(in.TimeNs, all.TimeNs)}
}

func (s *Summary) problemsText(w io.Writer, o TextOptions) {
	if len(s.Problems)+len(o.Missing) == 0 {
		fmt.Fprintln(w, "complete: finalized, nothing lost")
		return
	}
	fmt.Fprintln(w, "what does not add up:")
	for _, p := range slices.Concat(s.Problems, o.Missing) {
		fmt.Fprintf(w, "  %s\n", o.clean(p))
	}
}

// table is lines of cells; the first line is the head. The first column is
// flush left, the others flush right.
type table [][]string

func (t table) write(w io.Writer) {
	for _, line := range t.lines() {
		fmt.Fprintln(w, line)
	}
}

func (t table) lines() []string {
	widths := t.widths()
	out := make([]string, len(t))
	for i, row := range t {
		var b strings.Builder
		for j, cell := range row {
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if j == 0 {
				b.WriteString(cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		out[i] = b.String()
	}
	return out
}

func (t table) widths() []int {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// without is the table without the columns that have one of the heads.
func (t table) without(heads ...string) table {
	out := make(table, len(t))
	for j, head := range t[0] {
		if slices.Contains(heads, head) {
			continue
		}
		for i := range t {
			out[i] = append(out[i], t[i][j])
		}
	}
	return out
}

// width is that of the longest line.
func (t table) width() int {
	sum := -2
	for _, w := range t.widths() {
		sum += w + 2
	}
	return sum
}

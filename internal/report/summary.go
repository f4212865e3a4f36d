package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// The largest numbers of lines and entries that are printed.
const (
	textHosts = 4
	textPeers = 32
	textComms = 32
	textSlice = 12

	textVariables = 12
	textStandouts = 3
)

// summaryText prints a summary.
type summaryText struct {
	*printer
	*aggregate.Summary
}

// rankText prints the summary of one rank.
type rankText struct {
	summaryText
	rank *aggregate.RankSummary
}

// Summary prints the summary of a job.
func Summary(w io.Writer, job *aggregate.Summary, o Options) error {
	s := &summaryText{newOutput(w, o, o.Width), job}
	s.printf("%s on %d of %d ranks, %s\n", s.clean(s.Program), s.RanksRecorded, s.RanksExpected, s.hostsText())
	s.head("over all ranks: ")
	s.findingsText()
	s.popText()
	s.oversubscriptionText(s.Oversubscribed, s.RanksRecorded)
	s.balanceText()
	s.localityText()
	s.tables()
	s.lateText()
	s.sizesText()
	s.pairsText()
	s.patternsText()
	s.heatmapsText()
	return s.rest()
}

// rest prints what the summary of a job and that of a rank end with.
func (s *summaryText) rest() error {
	s.physicalText()
	s.pvarsText()
	s.conservationText(s.Conservation)
	s.untimedText()
	s.aloneText()
	s.messagesText()
	s.endsText()
	s.problemsText()
	s.omittedText()
	return s.Flush()
}

// Rank prints the summary of one rank.
func Rank(w io.Writer, rank *aggregate.RankSummary, o Options) error {
	s := &rankText{summaryText{newOutput(w, o, o.Width), &rank.Summary}, rank}
	s.printf("rank %d of %d of %s, ", rank.Rank, s.RanksExpected, s.clean(s.Program))
	for _, r := range s.Ranks {
		s.printf("process %d on %s, %s\n", r.Pid, s.clean(r.Host), stateText(r.State))
	}
	s.head("")
	s.placementText()
	s.tables()
	s.lateText()
	s.sizesText()
	s.peersText()
	s.commsText()
	return s.rest()
}

// stateText returns how a process ended. A process whose end was not recorded
// is "not finalized", because it may or may not be running.
func stateText(state string) string {
	if state == profile.Running.String() {
		return "not finalized"
	}
	return state
}

// untimedText prints the number of calls without a time. It is not listed as a problem,
// because these calls are short: MPI_Comm_set_attr, for example.
func (s *summaryText) untimedText() {
	if s.Untimed > 0 {
		s.printf("not timed: %s from Fortran, whose bindings do it without MPI's functions in C\n", text.CountOf(s.Untimed, "call"))
	}
}

// messagesText prints what the library could not write to the standard error of
// processes.
func (s *summaryText) messagesText() {
	for _, line := range slices.Sorted(maps.Keys(s.Messages)) {
		s.printf("message of %s, whose standard error was closed or replaced: %s\n", text.CountOf(s.Messages[line], "process"), s.clean(line))
	}
}

// aloneText prints why processes have a file of their own, which costs file systems more
// than the containers of nodes.
func (s *summaryText) aloneText() {
	for _, why := range slices.Sorted(maps.Keys(s.Alone)) {
		s.printf("files of their own: %s: %s\n", text.CountOf(s.Alone[why], "process"), s.clean(why))
	}
}

func (s *summaryText) hostsText() string {
	names := []string{}
	for i, h := range s.Hosts {
		if i == textHosts {
			names = append(names, "...")
			break
		}
		names = append(names, s.clean(h.Name))
	}
	return text.CountOf(len(s.Hosts), "host") + " (" + strings.Join(names, ", ") + ")"
}

// head prints the library, the run and its times. The text of is printed before
// the application time and names what that time adds up.
func (s *summaryText) head(of string) {
	s.printf("%s; run %s", s.clean(profile.LibraryName(s.Library)), s.clean(s.Run))
	if !s.Started.IsZero() {
		s.printf(", started %s", s.Started.Format("2006-01-02 15:04:05 UTC"))
	}
	s.printf("\nwall time %s; %sapplication %s", s.lifetime(s.WallTimeS), of, s.lifetime(s.ApplicationTimeS))
	if s.ThreadTimeS > s.ApplicationTimeS {
		s.printf("; its threads %s", s.seconds(s.ThreadTimeS))
	}
	if s.Timed() {
		s.printf(", of which in MPI %s; Init and Finalize %s besides\n", s.estimate(1e9*s.MPITimeS, 1e9*s.MPITimeErrorS), s.seconds(s.InitFinalizeTimeS))
		s.printf("share of MPI time: %s\n", s.shareText())
		s.lifetimesText(s.LifetimesUnknown)
	} else {
		s.println(", in MPI: not timed")
	}
	s.settingsText()
	s.variablesText()
}

// settingsText prints which settings limit what was recorded.
func (s *summaryText) settingsText() {
	switch s.Timing {
	case profile.TimingSampled.String():
		s.printf("times are estimates (--timing sampled): %s is one standard error\n", s.pick("±", "+-"))
	case profile.TimingOff.String():
		s.println("calls were not timed (--timing off): calls, messages and bytes are exact")
	}
	if s.Receives == profile.ReceivesOff {
		s.println("nonblocking receives were not followed (--receives off): what they received is not known")
	}
}

// shareText returns the mean and the extremes of the ranks' shares of time in
// MPI. If not all shares are known, it adds the number of known ones.
func (s *summaryText) shareText() string {
	var known []aggregate.RankTimes
	for _, r := range s.Ranks {
		if r.ShareKnown() {
			known = append(known, r)
		}
	}
	if len(known) == 0 {
		return s.none()
	}
	share := aggregate.ShareOf(known)
	words := "mean " + text.Percent(share.Mean)
	if len(known) < len(s.Ranks) {
		words += fmt.Sprintf(" of %s where it is known", text.CountOf(len(known), "rank"))
	}
	if len(known) > 1 {
		words += fmt.Sprintf(", min %s (rank %d), max %s (rank %d)",
			text.Percent(share.Min), share.MinRank, text.Percent(share.Max), share.MaxRank)
	}
	return words
}

// setUpCalls returns the names of the calls that the table of calls leaves out
// and the table of classes includes: Init and Finalize.
func (s *summaryText) setUpCalls() string {
	var names []string
	for _, c := range s.Calls {
		if profile.SetsUp(c.Call) {
			names = append(names, c.Call)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) }) // Init comes first
	return strings.Join(names, " and ")
}

func (s *summaryText) tables() {
	setUp := s.setUpCalls()
	switch {
	case len(s.Calls) == 0:
		s.println("\nno MPI calls")
	case !slices.ContainsFunc(s.Calls, func(c aggregate.CallTotals) bool { return !profile.SetsUp(c.Call) }):
		s.printf("\nno MPI calls but %s\n", setUp)
	default:
		s.callsText()
		s.classesText(setUp)
		s.slicesText()
		s.sitesText()
	}
}

func (s *summaryText) callsText() {
	if s.Top == 0 {
		return
	}
	t := text.NewTable("call", "calls", "time", "% of MPI", "mean", "msgs sent", "sent", "received")
	rest := 0
	for _, c := range s.Calls {
		if profile.SetsUp(c.Call) {
			continue
		}
		if s.Top >= 0 && t.Len() >= s.Top {
			rest++
			continue
		}
		t.Add(s.clean(c.Call), text.Count(c.Calls), s.time(&c.Totals), s.shareOfMPI(c.TimeNs),
			s.duration(c.MeanNs), text.Count(c.Sent.Messages), text.Bytes(c.Sent.Bytes), s.receivedText(&c))
	}
	s.writeTimes(t, "mean", "received")
	s.more(rest, "call", " (mpitrace report --top all)")
}

// writeTimes prints an empty line and a table. It removes the columns of times
// if calls were not timed, and then spare columns until the table fits.
func (s *summaryText) writeTimes(t *text.Table, spare ...string) {
	if !s.Timed() {
		t.Drop(timeColumns...)
	}
	s.fit(t, spare...)
	s.table(t, 0, "", "")
}

// timeColumns are the heads of the columns that need times of calls.
var timeColumns = []string{"time", "% of MPI", "mean", "min (rank)", "max (rank)"}

func (s *summaryText) shareOfMPI(ns uint64) string {
	if s.MPITimeS == 0 {
		return text.Percent(0)
	}
	return text.Percent(float64(ns) / 1e9 / s.MPITimeS)
}

// receivedText returns the bytes that a call received. It returns a dash for
// collectives that record only what they send, and for receives that were not
// followed, because 0 would look like lost data.
func (s *summaryText) receivedText(c *aggregate.CallTotals) string {
	if c.Received == (matrix.Volume{}) && s.notFollowed(c.Call) {
		return s.none()
	}
	switch c.Class {
	case profile.OneToAll.String(), profile.AllToOne.String(), profile.AllToAll.String():
		if c.Received == (matrix.Volume{}) {
			return s.none()
		}
	}
	return text.Bytes(c.Received.Bytes)
}

// notFollowed reports whether what a call received was not recorded.
func (s *summaryText) notFollowed(call string) bool {
	return s.Receives != profile.ReceivesOn && profile.PostsReceive(call)
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

func (s *summaryText) classesText(setUp string) {
	t := text.NewTable("class", "calls", "time", "msgs", "bytes")
	for _, c := range s.Classes {
		name := c.Class + classMeaning[c.Class]
		if c.Class == profile.Other.String() && setUp != "" {
			name += ", with " + setUp
		}
		t.Add(name, text.Count(c.Calls), s.time(&c.Totals), text.Count(c.Messages), text.Bytes(c.Bytes))
	}
	s.writeTimes(t)
}

// slicesText prints the table of slices, if there are several.
func (s *summaryText) slicesText() {
	if len(s.Slices) < 2 {
		return
	}
	t := text.NewTable("slice", "calls", "time", "% of MPI", "msgs", "bytes")
	for _, c := range longest(s.Slices, textSlice) {
		t.Add(s.clean(c.Slice), text.Count(c.Calls), s.time(&c.Totals), s.shareOfMPI(c.TimeNs),
			text.Count(c.Messages), text.Bytes(c.Bytes))
	}
	s.writeTimes(t)
	how := ", with less time"
	if !s.Timed() {
		how = ", which came later"
	}
	s.more(len(s.Slices)-textSlice, "slice", how)
}

func (s *rankText) peersText() {
	if len(s.rank.Peers) == 0 {
		s.println("\nno peers: nothing was sent to it or by it")
		return
	}
	collective := []string{"coll. sent", "coll. received"}
	t := text.NewTable("peer", "msgs sent", "sent", "msgs received", "received", collective[0], collective[1])
	used := false
	peers, more := top(s.rank.Peers, textPeers)
	for _, p := range peers {
		used = used || p.CollectiveSent.Messages+p.CollectiveReceived.Messages > 0
		t.Add(fmt.Sprint(p.Rank), text.Count(p.Sent.Messages), text.Bytes(p.Sent.Bytes),
			text.Count(p.Received.Messages), text.Bytes(p.Received.Bytes), text.Bytes(p.CollectiveSent.Bytes), text.Bytes(p.CollectiveReceived.Bytes))
	}
	if !used {
		t.Drop(collective...)
	}
	s.fit(t, collective...)
	s.table(t, more, "peer", "")
}

func (s *rankText) commsText() {
	if len(s.rank.Comms) == 0 {
		s.println("\nno communicators")
		return
	}
	t := text.NewTable("communicator", "rank", "size", "calls", "time", "msgs sent", "sent")
	comms, more := top(s.rank.Comms, textComms)
	for _, c := range comms {
		t.Add(s.clean(c.Label), fmt.Sprint(c.Rank), fmt.Sprint(c.Size), text.Count(c.Calls),
			s.time(&c.Totals), text.Count(c.Sent.Messages), text.Bytes(c.Sent.Bytes))
	}
	if rest := s.rank.WithoutComm(); rest.Calls > 0 {
		t.Add("none (as in Wait)", s.none(), s.none(), text.Count(rest.Calls), s.time(&rest), s.none(), s.none())
	}
	s.writeTimes(t)
	s.more(more, "communicator", "")
}

func (s *summaryText) problemsText() {
	if len(s.Problems)+len(s.Missing) == 0 {
		s.println("complete: finalized, nothing lost")
		return
	}
	s.println("what does not add up:")
	for _, p := range slices.Concat(s.Problems, s.Missing) {
		s.printf("  %s\n", s.clean(p))
	}
}

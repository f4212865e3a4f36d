package findings

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

const (
	dominates   = 0.8  // with at least this share of computing, computing dominates
	worthInit   = 0.01 // least time of MPI_Init and of MPI_Finalize that is named, as a share of the run time
	mostName    = 40   // columns of the name of a program
	mostlyKnown = 0.5  // least share of the time in MPI that its cause explains
	mostVerdict = 280  // columns; three lines of a short report hold at least as much
)

// verdict returns one or two sentences: how the time of the job divides, whether the run can be
// trusted, and what to do or to record next.
func (j *facts) verdict(found []Finding) string {
	who := fmt.Sprintf("%s on %s", text.First(text.Line(j.Program), mostName, false), text.CountOf(max(j.RanksExpected, j.RanksRecorded), "rank"))
	if j.Programs.Several() {
		who = j.Programs.OnRanks()
	}
	bad := ""
	if len(found) > 0 && found[0].Rule == EndedBadly {
		bad = joined(found[0].Text, found[0].Try)
	}
	lost := ""
	if findingOf(found, NotMeasured) != nil {
		lost = " (not all was measured)"
	}
	if j.Tree == nil {
		why := "times are not known"
		if !j.Timed() {
			why = "times were not recorded (--timing off); calls, messages and bytes are exact"
		}
		return joined(who+lost+": "+why+".", bad)
	}
	if j.Tree.RuntimeNs < leastRunNs && bad != "" { // the last known moment may be long before the end
		return who + lost + " ended badly. " + bad
	}
	who += ", " + duration(float64(j.Tree.RuntimeNs)) + lost
	if j.Tree.RuntimeNs < leastRunNs {
		return who + ": too short to say what costs time."
	}
	second := bad
	if bad == "" {
		second = j.judgement(found)
	}
	parts := strings.Join(j.partTexts(), ", ")
	whole := joined(who+": "+parts+j.startText(parts)+".", second)
	if text.Columns(whole) > mostVerdict { // what to do is more important than the time to start
		whole = joined(who+": "+parts+".", second)
	}
	return whole
}

// joined returns sentences in one line.
func joined(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// percent returns a share in whole percent.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// partTexts returns the parts of the tree that are large enough, the largest first.
func (j *facts) partTexts() (words []string) {
	t := j.Tree
	type part struct {
		share float64
		text  string
	}
	var parts []part
	add := func(share float64, name, of string) {
		if share >= leastShare {
			parts = append(parts, part{share, name + " " + percent(share) + of})
		}
	}
	errorText := "" // computing is what is left of the own time, so that it has the error of the time in MPI
	if t.ErrorNs > 0 {
		errorText = fmt.Sprintf(" ± %.0f", math.Ceil(100*t.ShareOf(t.ErrorNs)))
	}
	add(t.Share(aggregate.Computing), "computing", errorText)
	waiting := t.Share(aggregate.Waiting)
	if t.Traced || j.Tree.Ranks == 1 {
		add(waiting, "waiting", "")
		add(t.Share(aggregate.MovingData), movingName(t), errorText)
	} else {
		about := ""
		if waiting >= leastShare {
			about = fmt.Sprintf(" (about %s waiting)", percent(waiting))
		}
		add(waiting+t.Share(aggregate.MovingData), "in MPI", errorText+about)
	}
	add(t.Share(aggregate.FileIO), "MPI-IO", "")
	add(t.Share(aggregate.SetUp), "set-up", "")
	add(t.Share(aggregate.EndedEarly), "ended early or began later", "")
	add(t.NoCore, noCoreName(t), "")
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.share, a.share) })
	for _, p := range parts {
		words = append(words, p.text)
	}
	return words
}

func movingName(t *aggregate.TimeTree) string {
	if t.Traced {
		return "moving data"
	}
	return "in MPI"
}

func noCoreName(t *aggregate.TimeTree) string {
	if t.NoCoreKnown == aggregate.NoCoreAtLeast {
		return "waiting for a core at least"
	}
	return "waiting for a core about"
}

// startText returns the time to start and to end MPI, which is no part of the run time, as the end of
// the sentence about the parts.
func (j *facts) startText(parts string) string {
	var words []string
	for _, outside := range []struct {
		ns   float64
		name string
	}{{j.Tree.InitNs, "start"}, {j.Tree.FinalizeNs, "end"}} {
		if outside.ns >= worthInit*float64(j.Tree.RuntimeNs) {
			words = append(words, duration(outside.ns)+" to "+outside.name+" MPI")
		}
	}
	switch start := strings.Join(words, ", "); {
	case start == "":
		return ""
	case strings.HasSuffix(parts, ")"):
		return "; and " + start
	default:
		return " (and " + start + ")"
	}
}

// judgement returns the sentence about the largest loss.
func (j *facts) judgement(found []Finding) string {
	t := j.Tree
	largest := j.largestTimed(found)
	switch {
	case j.noCore():
		try := "start fewer ranks on a node, or ask for the whole node"
		if f := findingOf(found, noCoreRules...); f != nil {
			try = clause(f.Try)
		}
		return fmt.Sprintf("The ranks often had no core to run on, so the other times are not reliable: %s.", try)
	case t.Share(aggregate.Computing) >= dominates:
		if largest == nil {
			return "The program mostly computes."
		}
		return namedSentenceOf(fmt.Sprintf("The program mostly computes; the largest loss is %s (%s)", largest.Rule, percent(largest.Share)), largest)
	}
	return j.loss(found)
}

// largestTimed returns the finding about time with the largest share; nil if there is none.
func (j *facts) largestTimed(found []Finding) *Finding {
	for i := range found { // the largest share first
		if found[i].Of == OfTime && !slices.Contains(noCoreRules, found[i].Rule) {
			return &found[i]
		}
	}
	return nil
}

// waitRules are the rules whose share is waiting for other ranks. It is that of all findings about causes
// of waits, too.
var waitRules = []Rule{LoadImbalance, CollectiveWaits}

// waitFinding returns the first finding whose share is waiting for other ranks; nil if there is none.
func waitFinding(found []Finding) *Finding {
	for i := range found {
		if found[i].waits != nil || slices.Contains(waitRules, found[i].Rule) {
			return &found[i]
		}
	}
	return nil
}

// loss returns the sentence about the largest part that is not computing.
func (j *facts) loss(found []Finding) string {
	t := j.Tree
	wait, move := t.Share(aggregate.Waiting)+t.Share(aggregate.EndedEarly), t.Share(aggregate.MovingData)
	files, setUp := t.Share(aggregate.FileIO), t.Share(aggregate.SetUp)
	inMPI := t.Share(aggregate.Waiting) + move
	waits := waitFinding(found)
	if waits != nil && !t.Traced && waits.Share >= mostlyKnown*(wait+move) {
		wait, move = wait+move, 0 // that some compute longer than others is exact without a trace, too
	}
	switch most := max(wait, move, files, setUp); {
	case most < leastShare:
		return ""
	case most == files:
		return sentenceOf("File input/output costs "+percent(files), findingOf(found, FileAccess))
	case most == setUp:
		return j.setUpSentence("Set-up costs "+percent(setUp), findingOf(found, SetUpInALoop))
	case most == wait && waits != nil && waits.Share >= mostlyKnown*t.ShareOf(float64(t.Before[aggregate.Waiting]+t.Before[aggregate.EndedEarly])):
		return sentenceOf("The ranks wait for each other", waits)
	case most == wait && waits != nil && waits.waits != nil:
		return sentenceOf(fmt.Sprintf("The ranks wait for each other, for several reasons. The largest costs %s", percent(waits.Share)), waits)
	case most == wait && t.Traced:
		return "The ranks wait for each other, for several reasons: see the causes of the waits."
	case most == wait && t.Share(aggregate.EndedEarly) >= t.Share(aggregate.Waiting):
		return "The ranks wait for each other: some end early or begin later."
	case most == wait:
		return fmt.Sprintf("The ranks wait for each other%s: %s.", j.mostIn(isCollective), clause(j.tryTrace()))
	}
	moves := findingOf(found, SmallMessages, SmallCollectives, HotRank, BusyPolling, SparseAllToAll)
	switch {
	case t.Traced:
		return sentenceOf("Communication costs "+percent(move), moves)
	case moves != nil && moves.Share >= mostlyKnown*inMPI:
		return namedSentenceOf(percent(inMPI)+" in MPI, mostly "+string(moves.Rule), moves)
	}
	return fmt.Sprintf("%s in MPI, waiting or moving data%s: %s.", percent(inMPI), j.mostIn(isCommunication), clause(j.tryTrace()))
}

// setUpSentence returns a sentence about set-up, which may be done once only, as by MPI_Comm_spawn.
func (j *facts) setUpSentence(words string, inLoop *Finding) string {
	if inLoop != nil {
		return sentenceOf(words, inLoop)
	}
	words += j.mostIn(func(c *aggregate.CallSite) bool { return profile.MakesObject(c.Call) })
	if j.Tree.Traced {
		return words + "."
	}
	return words + ": " + clause(j.tryTrace()) + "."
}

// mostIn names the call site with the most time in some calls.
func (j *facts) mostIn(is func(*aggregate.CallSite) bool) string {
	c := j.longestSite(timeIf(is))
	if c == nil {
		return ""
	}
	return ", most in " + at(c)
}

func isCommunication(c *aggregate.CallSite) bool {
	return c.Class != profile.IO.String() && !profile.MakesObject(c.Call)
}

func isCollective(c *aggregate.CallSite) bool {
	class, _ := profile.ParseClass(c.Class)
	return aggregate.WaitsForAll(c.Call, class)
}

// findingOf returns the first finding of some rules; nil if there is none.
func findingOf(found []Finding, of ...Rule) *Finding {
	for i := range found {
		if slices.Contains(of, found[i].Rule) {
			return &found[i]
		}
	}
	return nil
}

// sentenceOf returns a sentence with the cause, if a finding names it.
func sentenceOf(words string, f *Finding) string {
	if f != nil {
		words += ": " + because(f, cmp.Or(f.Cause, string(f.Rule)+inPlace(f)))
	}
	return words + "."
}

// namedSentenceOf is sentenceOf for words that contain the rule's name.
func namedSentenceOf(words string, f *Finding) string {
	return words + ": " + because(f, cmp.Or(f.Cause, strings.TrimSpace(inPlace(f)))) + "."
}

// because returns a cause and what to try.
func because(f *Finding, cause string) string {
	if cause != "" {
		cause += "; "
	}
	return cause + clause(f.Try)
}

func inPlace(f *Finding) string {
	if f.Call == "" {
		return ""
	}
	return " in " + place(f.Call, f.Callsite)
}

// clause returns the first sentence of a text as a part of another sentence.
func clause(sentences string) string {
	first, _, _ := strings.Cut(sentences, ". ")
	first = strings.TrimSuffix(first, ".")
	r, n := utf8.DecodeRuneInString(first)
	return string(unicode.ToLower(r)) + first[n:]
}

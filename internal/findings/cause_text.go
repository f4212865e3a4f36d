package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/causes"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/profile"
)

// causeFindings returns the findings about the causes of waits, the largest first. If they are uncertain,
// they say nothing of savings.
func causeFindings(j *facts, uncertain bool) []Finding {
	if j.trace == nil || j.quiet() {
		return nil
	}
	var found []Finding
	for _, g := range j.causeGroups() {
		found = append(found, *g.finding(j))
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(b.Share, a.Share) })
	if uncertain {
		return found
	}
	for i := range found {
		var other *Finding
		if len(found) > 1 {
			other = &found[max(1-i, 0)] // the largest other one
		}
		found[i].Try += found[i].savingText(j, other)
	}
	return found
}

// finding returns the finding about a group of causes, without its saving.
func (g *causeGroup) finding(j *facts) *Finding {
	f := &Finding{Rule: g.rule, Share: g.share, Ranks: g.ranks, Burst: g.parts[0].Burst, waits: g}
	if len(g.seen) > 0 {
		f.Call, f.Callsite = g.seen[0].Call, g.seen[0].Callsite
	}
	f.SavesS, f.replayed = g.saves(j)
	switch g.rule {
	case LoadImbalance:
		g.imbalance(j, f)
	case VaryingWork:
		g.varying(f)
	case LateSender:
		g.lateSender(f)
	case LateReceiver:
		g.lateReceiver(j, f)
	case SerialChain:
		g.chain(f)
	case BetweenPrograms:
		g.programs(f)
	case HotRank:
		g.hotRank(j, f)
	}
	f.Text += g.seenText()
	return f
}

// seenText says where the time is seen: where most of it is waited.
func (g *causeGroup) seenText() string {
	if len(g.seen) == 0 {
		return ""
	}
	s := &g.seen[0]
	words := fmt.Sprintf(" You see it as: %s %s %s in %s", few(s.Ranks), verb(s.Ranks, "wait"), duration(float64(s.CostNs)), s.Stop)
	if n, rest := len(g.seen)-1, g.costNs()-s.CostNs; n > 0 && float64(rest) >= minor*float64(g.costNs()) {
		words += fmt.Sprintf(", and %s at %s", duration(float64(rest)), text.CountOf(n, "other place"))
	}
	if n := g.pairs(); n > 1 && (g.rule == LateSender || g.rule == LateReceiver) {
		words += fmt.Sprintf(" (%d pairs of ranks)", n)
	}
	return words + "."
}

// mostRanges is the number of ranges of ranks that are listed where the ranks are not the point.
const mostRanges = 3

// few returns ranks, or how many there are.
func few(ranks profile.RankSet) string {
	if len(ranks) > mostRanges {
		return text.CountOf(ranks.Len(), "rank")
	}
	return ranks.String()
}

// them returns the ranks of the group, which a sentence before has named.
func (g *causeGroup) them() string {
	if len(g.ranks) > mostRanges {
		return "these ranks"
	}
	return g.ranks.String()
}

// either returns the word for one rank, or that for several.
func either(ranks profile.RankSet, one, several string) string {
	if ranks.Len() == 1 {
		return one
	}
	return several
}

// verb returns a verb for one rank or several.
func verb(ranks profile.RankSet, several string) string { return either(ranks, several+"s", several) }

// between returns where a burst is, which may not be known.
func between(b *causes.Burst) string {
	if b == nil {
		return "between two calls"
	}
	return b.String()
}

// where returns a sentence that says where the bursts of the group are: the one that costs most, and how
// many others.
func (g *causeGroup) where() string {
	shares := map[causes.Burst]float64{}
	for _, p := range g.parts {
		if p.Burst != nil {
			shares[*p.Burst] += p.share
		}
	}
	others := -1 // without the largest
	largest := g.parts[0].Burst
	for b, share := range shares {
		if share >= minor*g.share {
			others++
		}
		if largest == nil || share > shares[*largest] {
			largest = &b
		}
	}
	switch words := between(largest); {
	case others <= 0:
		return fmt.Sprintf(" The computing is %s.", words)
	case shares[*largest] > mostlyOne*g.share:
		return fmt.Sprintf(" Most of the computing is %s; the rest is at %s.", words, text.CountOf(others, "other place"))
	default:
		return fmt.Sprintf(" The largest part of the computing is %s; the rest is at %s.", words, text.CountOf(others, "other place"))
	}
}

// within returns the start of a sentence about a program of several.
func (g *causeGroup) within(sentence string) string {
	if g.to == "" {
		return sentence
	}
	return fmt.Sprintf("Within %s, %s", g.to, lowerFirst(sentence))
}

// The ratio of the work of ranks to that of others is told if it is at least muchMore. From nearlyAll on, the
// others have hardly any.
const (
	muchMore  = 1.2
	nearlyAll = 100
)

func (g *causeGroup) imbalance(j *facts, f *Finding) {
	f.Try = fmt.Sprintf("Move work off %s.", g.them())
	if g.alone() {
		f.Text = g.within(fmt.Sprintf("%s alone %s while the others wait.%s", sentence(g.ranks), verb(g.ranks, "compute"), g.where()))
		f.Cause = fmt.Sprintf("%s alone %s %s", few(g.ranks), verb(g.ranks, "compute"), between(f.Burst))
		f.Try = fmt.Sprintf("Split what %s %s alone, or let the others go on meanwhile.", g.them(), either(g.ranks, "does", "do"))
		return
	}
	f.Text = g.within(fmt.Sprintf("%s %s longer than the others.%s", sentence(g.ranks), verb(g.ranks, "compute"), g.where()))
	f.Cause = fmt.Sprintf("%s %s longer than the others %s", few(g.ranks), verb(g.ranks, "compute"), between(f.Burst))
	if ratio, others := j.workRatio(g.ranks, g.to); ratio >= muchMore {
		amount := fmt.Sprintf("%s times the work of %s", times(ratio), either(others, others.String(), "the others"))
		if ratio >= nearlyAll {
			amount = "nearly all of the work"
		}
		amount = either(g.ranks, "has ", "have ") + amount
		f.Cause = few(g.ranks) + " " + amount
		f.Text = g.within(fmt.Sprintf("%s %s.%s", sentence(g.ranks), amount, g.where()))
	}
}

// times returns a ratio with at most two digits.
func times(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("%.0f", ratio)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", ratio), ".0")
}

// workRatio returns the computing of ranks in the mean ÷ that of the other ranks of their program, and
// these ranks; 0 if it is not known.
func (j *facts) workRatio(ranks profile.RankSet, program string) (ratio float64, others profile.RankSet) {
	var sum [2]float64
	var n [2]int
	var rest []int
	for i := range j.Ranks {
		r := &j.Ranks[i]
		useful, known := r.UsefulNs()
		if !known || r.Rank < 0 || program != "" && j.programOf(r.Rank) != program {
			continue
		}
		k := 0
		if !ranks.Contains(r.Rank) {
			k, rest = 1, append(rest, r.Rank)
		}
		sum[k], n[k] = sum[k]+useful, n[k]+1
	}
	if n[0] == 0 || n[1] == 0 || sum[1] == 0 {
		return 0, nil
	}
	return sum[0] / float64(n[0]) / (sum[1] / float64(n[1])), profile.RankSetOf(rest...)
}

// programOf returns the name of a rank's program.
func (j *facts) programOf(rank int) string {
	for i := range j.Programs {
		if j.Programs[i].Ranks.Contains(rank) {
			return j.Programs[i].Name
		}
	}
	return ""
}

func (g *causeGroup) varying(f *Finding) {
	if len(g.ranks) > 0 {
		f.Text = g.within(fmt.Sprintf("%s computes longer in some steps than in others.%s", sentence(g.ranks), g.where()))
		f.Cause = fmt.Sprintf("%s computes longer in some steps than in others, %s", few(g.ranks), between(f.Burst))
	} else {
		f.Text = g.within(fmt.Sprintf("The last rank changes. Now one computes longer, now another.%s", g.where()))
		if c := g.parts[0].Cause; len(c.Ranks) > 0 && c.CostNs > 0 {
			f.Text += fmt.Sprintf(" Rank %d costs most, %.0f %% of it.", c.Ranks[0].Rank, 100*float64(c.Ranks[0].CostNs)/float64(c.CostNs))
		}
		f.Cause = "the last rank changes, because work varies " + between(f.Burst)
	}
	f.Try = "Even out the steps, or wait less often, so that ranks can run ahead."
}

func (g *causeGroup) lateSender(f *Finding) {
	s := &g.seen[0]
	if late := actionOf(s.Pattern); late.one != "" {
		g.first(f, late)
		f.Try = fmt.Sprintf("Let %s send before computing.", g.them())
		return
	}
	g.first(f, action{one: "calls " + s.Call, several: "call " + s.Call})
	f.Try = fmt.Sprintf("Let %s call %s before computing.", g.them(), s.Call)
}

// first says what ranks do before the action that others wait for.
func (g *causeGroup) first(f *Finding, late action) {
	words := fmt.Sprintf("%s before %s", verb(g.ranks, "compute"), either(g.ranks, "it "+late.one, "they "+late.several))
	f.Cause = fmt.Sprintf("%s %s", few(g.ranks), words)
	if f.Burst != nil { // shorter, and it says where
		words = fmt.Sprintf("%s before %s", verb(g.ranks, "compute"), f.Burst.After)
	}
	f.Text = g.within(fmt.Sprintf("%s %s.%s", sentence(g.ranks), words, g.where()))
}

func (g *causeGroup) lateReceiver(j *facts, f *Finding) {
	pattern := g.seen[0].Pattern
	g.first(f, actionOf(pattern))
	switch pattern {
	case trace.LateReceiver.String():
		f.Try = fmt.Sprintf("Post the receive (Irecv) before computing on %s, and wait for it afterwards.", g.them())
		if limit, mean := raisable(j, f.Callsite); limit != nil {
			f.Try += fmt.Sprintf(" Or raise the eager limit (%s, now %s): then these sends, of %s on average, do not wait.", limit.Variable, text.Bytes(limit.Bytes), text.Bytes(mean))
		}
	case trace.LatePost.String():
		f.Try = fmt.Sprintf("Call Win_post before computing on %s.", g.them())
	default:
		f.Try = fmt.Sprintf("Call MPI more often on %s, or let MPI make progress in a thread.", g.them())
	}
}

func (g *causeGroup) chain(f *Finding) {
	others := either(g.ranks, " and others", "")
	f.Text = g.within(fmt.Sprintf("%s%s compute one after the other.%s", sentence(g.ranks), others, g.where()))
	f.Cause = fmt.Sprintf("%s%s compute one after the other", few(g.ranks), others)
	f.Try = "Split the data into blocks, and send each block as soon as it is computed."
}

func (g *causeGroup) programs(f *Finding) {
	f.Ranks = g.parts[0].Named
	f.Text = fmt.Sprintf("%s waits for %s in %s of the time.", g.from, g.to, text.Percent(g.share))
	f.Cause = fmt.Sprintf("%s waits for %s, %s", g.from, g.to, percent(g.share))
	if why := g.parts[0].why(); why != "" {
		because := "The largest reason:"
		if g.parts[0].share > mostlyOne*g.share {
			because = "Mostly because"
		}
		f.Text += fmt.Sprintf(" %s %s of %s %s.", because, f.Ranks, g.to, why)
	}
	f.Try = fmt.Sprintf("Give %s more of the ranks, or let the programs exchange data less often.", g.to)
}

// why says what the ranks that cause it do.
func (p *causePart) why() string {
	switch {
	case p.Class == causes.InCall && p.Call != nil:
		return either(p.Named, "is", "are") + " in " + p.Call.String()
	case p.Burst != nil:
		return verb(p.Named, "compute") + " " + between(p.Burst)
	}
	return ""
}

func (g *causeGroup) hotRank(j *facts, f *Finding) {
	c := causes.Stop{Call: "MPI"}
	if g.parts[0].Call != nil {
		c = *g.parts[0].Call
	}
	f.Text = g.within(fmt.Sprintf("%s is in %s while others wait for it.", sentence(g.ranks), c))
	f.Cause = fmt.Sprintf("%s is in %s while others wait for it", few(g.ranks), c)
	switch {
	case profile.TraitsOf(c.Call).Any(profile.TraitInitializes):
		f.Text = g.within(fmt.Sprintf("%s leaves MPI_Init later than the others.", sentence(g.ranks)))
		f.Cause = fmt.Sprintf("%s leaves MPI_Init later than the others", few(g.ranks))
		f.Try = "See how the launcher starts the ranks. A longer run loses no more time to this."
	case strings.HasPrefix(c.Call, "File_"):
		f.Try = "Let all ranks read and write together (collective calls), or let the others go on meanwhile."
	case profile.MakesObject(c.Call):
		f.Try = createOnce(c.Call)
	case slices.ContainsFunc(j.Calls, func(t aggregate.CallTotals) bool { return t.Call == c.Call && pointToPoint(&t) }):
		f.Try = "Use a collective (Gather, Reduce, Bcast), or forward the data along a tree of ranks."
	default:
		f.Try = fmt.Sprintf("See why this call takes longer on %s than on others: its data, its core, its network.", g.them())
	}
}

// savingText says what the finding could save, if it is alone. other is the largest other cause of waits.
func (f *Finding) savingText(j *facts, other *Finding) string {
	most := f.Share * j.trace.Runtime
	switch {
	case f.SavesS <= 0 && !f.replayed:
		return ""
	case !f.replayed:
		return fmt.Sprintf(" At most %s shorter.", seconds(f.SavesS))
	case f.SavesS >= most/2:
		return fmt.Sprintf(" This saves %s.", seconds(f.SavesS))
	}
	alone, with := "nothing", "other causes"
	if f.SavesS >= minor*most {
		alone = seconds(f.SavesS)
	}
	if other != nil {
		with = "the " + string(other.Rule)
		if len(other.Ranks) > 0 {
			with += " of " + few(other.Ranks)
		}
	}
	return fmt.Sprintf(" Alone this saves %s; more only together with %s.", alone, with)
}
